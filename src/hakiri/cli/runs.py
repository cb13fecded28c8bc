"""`hakiri runs`: what ran, how it ended, and everything that is known of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import BOLD, CYAN, GREEN, RED, YELLOW
from hakiri.cli.frame import AsJson, Door, Group, examples
from hakiri.cli.operating import (
    COMFORT,
    brief_count,
    brief_time,
    desk_of,
    moment_words,
    piece_words,
    print_facts,
    wrapped,
)
from hakiri.cli.options import global_options

if TYPE_CHECKING:
    from hakiri.catalog.contract.lineage import Edge
    from hakiri.catalog.contract.runs import Run
    from hakiri.cli.console import Console
    from hakiri.cli.reports import RunReport
    from hakiri.cli.reports.runs import EdgeRow, RowCounts, RunChunkRow, RunFacts, SlowChunk
    from hakiri.pipelines.operations.stories import ChunkStory, RunStory
    from hakiri.store.manifests import Counts

MOST_SHOWN_CHUNKS = 100
MOST_SLOW_CHUNKS = 3
CHUNK_STYLES = {"done": GREEN, "running": CYAN, "failed": RED, "skipped": YELLOW}
STATUS_STYLES = {"success": GREEN, "running": CYAN, "partial": YELLOW, "failed": RED}
_DEFAULT = "list"
_UNDER = " " * 10


class _RunsGroup(Group):
    """`hakiri runs orders` is short for `hakiri runs list orders`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        at = _behind_global_options(args)
        if at == len(args) or args[at] not in {*self.commands, "--help"}:
            args = [*args[:at], _DEFAULT, *args[at:]]
        return super().parse_args(ctx, args)


cli = Door(
    cls=_RunsGroup,
    help="Show what ran, and how it ended.\n\n"
    "`hakiri runs [ID]` is short for `hakiri runs list [ID]`. `show` tells everything of one run.",
    epilog=examples("hakiri runs", "hakiri runs orders", "hakiri runs show 7f3a9c21"),
    add_completion=False,
    rich_markup_mode=None,
)


@cli.command(
    _DEFAULT,
    epilog=examples("hakiri runs list", "hakiri runs list orders --limit 5", "hakiri runs list --json"),
)
def list_runs(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The runs of one pipeline; all if left out.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many runs, from the newest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""
    from hakiri.cli.reports import RunsReport
    from hakiri.core.ids import PipelineId

    app = app_of(ctx)
    desk = desk_of(app)
    with desk.looking() as catalog:
        pipeline = None if pipeline_id is None else PipelineId(pipeline_id)
        runs = catalog.runs.latest(pipeline, limit=limit) if catalog is not None else ()
    if pipeline_id is not None and not runs:
        desk.project.pipeline(pipeline_id)  # says so if there is none; one that is gone may still have runs
    facts = run_facts(runs)
    if as_json:
        app.console.data(RunsReport(runs=facts))
    elif not facts:
        app.console.print("nothing ran yet" if pipeline_id is None else f"{pipeline_id} never ran")
    else:
        _show_list(app.console, facts)


@cli.command("show", epilog=examples("hakiri runs show 7f3a9c21", "hakiri runs show 7f3a9c21 --json"))
def show(
    ctx: typer.Context,
    *,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The id of the run, or its first or last digits.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show everything that is known of one run: its chunks, what became of its rows, and where from.

    Chunks that a later run took over are shown with that run.
    """
    from hakiri.pipelines.operations.errors import NoSuchRun
    from hakiri.pipelines.operations.stories import story_of

    app = app_of(ctx)
    desk = desk_of(app)
    with desk.looking() as catalog:
        if catalog is None:
            raise NoSuchRun(run, ())
        story = story_of(catalog, desk.layout, run)
    report = _report(story)
    if as_json:
        app.console.data(report)
    else:
        _show_run(app.console, report)


def run_facts(runs: Sequence[Run]) -> tuple[RunFacts, ...]:
    """Runs as reports carry them."""
    from hakiri.cli.reports.runs import RunFacts
    from hakiri.pipelines.operations.stories import short_ids

    short = short_ids(run.run for run in runs)
    return tuple(
        RunFacts(
            run=run.run,
            short=short[run.run],
            pipeline=run.pipeline,
            node=run.node,
            status=run.status.value,
            started_at=run.started_at,
            ended_at=run.ended_at,
            seconds=None if run.ended_at is None else (run.ended_at - run.started_at).total_seconds(),
            rows=run.rows,
            bytes=run.bytes,
            error_kind=run.error_kind,
            error_message=run.error_message,
            trace=run.trace,
        )
        for run in runs
    )


def _show_list(console: Console, runs: Sequence[RunFacts]) -> None:
    from hakiri.cli.board.parts import WIDEST_NAME
    from hakiri.cli.columns import Column, clip, column_lines

    def cells(fact: Callable[[RunFacts], str]) -> list[str]:
        return [fact(run) for run in runs]

    titles, *lines = column_lines(
        console,
        [
            Column(title="run", cells=cells(lambda run: run.short)),
            Column(title="pipeline", cells=cells(lambda run: run.pipeline), comfort=WIDEST_NAME),
            Column(title="status", cells=cells(lambda run: run.status), styles=STATUS_STYLES),
            Column(title="started (UTC)", cells=cells(lambda run: moment_words(run.started_at)[:16])),
            Column(title="took", cells=cells(_took), is_number=True, worth=80),
            Column(title="rows", cells=cells(lambda run: _count(run.rows)), is_number=True, worth=90),
            Column(title="bytes", cells=cells(lambda run: _size(run.bytes)), is_number=True, worth=60),
        ],
    )
    console.print(titles)
    for run, line in zip(runs, lines, strict=True):
        console.print(line)
        if run.error_kind is not None:
            console.print(clip(console, f"{_UNDER}{_error_words(run)}"))


def _show_run(console: Console, report: RunReport) -> None:
    from hakiri.cli.board.words import counted
    from hakiri.cli.columns import width_of

    run = report.run
    style = STATUS_STYLES.get(run.status)
    status = console.highlighted(run.status, style) if style else run.status
    took = "" if run.seconds is None else f" after {brief_time(run.seconds)}"
    console.print(f"{console.highlighted(run.run, BOLD)}  {status}{took}")
    print_facts(
        console,
        [
            ("pipeline", run.pipeline),
            ("started", f"{moment_words(run.started_at)} on {run.node}"),
            ("rows", _rows_words(report)),
            ("error", _error_words(run)),
            ("slowest", _slow_words(report.slowest)),
            ("trace", run.trace or ""),
            ("", report.trace_file or ""),
        ],
    )
    for title, edges in (("came from", report.parents), ("led to", report.children)):
        if edges:
            console.print("")
            console.print(title)
        for edge in edges:
            reason = f", {edge.reason}" if edge.reason else ""
            for line in wrapped(
                f"{edge.run}  {edge.kind}{reason}", width_of(console), first="  ", rest="    "
            ):
                console.print(line)
    if report.chunks:
        console.print("")
        _show_chunks(console, report.chunks[:MOST_SHOWN_CHUNKS])
        left = len(report.chunks) - MOST_SHOWN_CHUNKS
        if left > 0:
            console.note(f"and {counted(left, 'chunk')} more; `--json` has them all")


def _show_chunks(console: Console, chunks: Sequence[RunChunkRow]) -> None:
    from hakiri.cli.columns import Column, column_lines, width_of

    def cells(fact: Callable[[RunChunkRow], str]) -> list[str]:
        return [fact(chunk) for chunk in chunks]

    def number(fact: Callable[[RowCounts], int]) -> list[str]:
        return ["" if c.counts is None or not fact(c.counts) else f"{fact(c.counts):,}" for c in chunks]

    titles, *lines = column_lines(
        console,
        [
            Column(title="chunk", cells=cells(lambda chunk: str(chunk.chunk)), is_number=True),
            Column(title="table", cells=cells(lambda chunk: chunk.table), worth=50),
            Column(title="reads", cells=cells(lambda chunk: chunk.reads), comfort=COMFORT),
            Column(title="status", cells=cells(lambda chunk: chunk.status), styles=CHUNK_STYLES),
            Column(title="tries", cells=cells(lambda chunk: str(chunk.attempts)), is_number=True, worth=70),
            Column(title="rows", cells=cells(lambda chunk: _count(chunk.rows)), is_number=True, worth=90),
            Column(title="filtered", cells=number(lambda counts: counts.filtered), is_number=True, worth=80),
            Column(title="bad", cells=number(lambda counts: counts.quarantined), is_number=True, worth=85),
            Column(title="bytes", cells=cells(lambda chunk: _size(chunk.bytes)), is_number=True, worth=60),
            Column(title="took", cells=cells(_took), is_number=True, worth=75),
            Column(title="won by", cells=cells(lambda chunk: chunk.winning_attempt or ""), worth=10),
        ],
    )
    console.print(titles)
    for chunk, line in zip(chunks, lines, strict=True):
        console.print(line)
        if chunk.error_kind is not None:
            for more in wrapped(_error_words(chunk), width_of(console), first=_UNDER, rest=_UNDER):
                console.print(more)


def _rows_words(report: RunReport) -> str:
    counts = report.counts
    if all(chunk.counts is None for chunk in report.chunks):
        return _count(report.run.rows)
    lost = [
        f"{counts.filtered:,} filtered" if counts.filtered else "",
        f"{counts.quarantined:,} in quarantine" if counts.quarantined else "",
        _size(report.run.bytes),
    ]
    return ", ".join(filter(None, [f"{counts.written:,} written of {counts.read:,} read", *lost]))


def _slow_words(slowest: Sequence[SlowChunk]) -> str:
    if len(slowest) <= 1:
        return ""
    words = []
    for slow in slowest:
        waited = f" ({brief_time(slow.wait_seconds)} of it waiting)" if slow.wait_seconds else ""
        words.append(f"chunk {slow.chunk}: {brief_time(slow.seconds)}{waited}")
    return ", ".join(words)


def _error_words(each: RunFacts | RunChunkRow) -> str:
    return ": ".join(filter(None, [each.error_kind, each.error_message]))


def _took(each: RunFacts | RunChunkRow) -> str:
    return "" if each.seconds is None else brief_time(each.seconds)


def _count(number: int | None) -> str:
    return "" if number is None else brief_count(number)


def _size(number: int | None) -> str:
    from hakiri.core.grammar import format_size

    return "" if number is None else format_size(number)


def _report(story: RunStory) -> RunReport:
    from hakiri.cli.reports import RunReport

    return RunReport(
        run=run_facts([story.run])[0],
        counts=_counts(story.counts),
        chunks=tuple(_chunk_row(each) for each in story.chunks),
        slowest=_slowest(story),
        parents=tuple(_edge_row(edge, edge.parent) for edge in story.parents),
        children=tuple(_edge_row(edge, edge.child) for edge in story.children),
        trace_file=None if story.trace_file is None else str(story.trace_file),
    )


def _counts(counts: Counts) -> RowCounts:
    from hakiri.cli.reports.runs import RowCounts

    return RowCounts(
        read=counts.read, filtered=counts.filtered, written=counts.written, quarantined=counts.quarantined
    )


def _chunk_row(story: ChunkStory) -> RunChunkRow:
    from hakiri.cli.operating import predicate_of
    from hakiri.cli.reports.runs import RunChunkRow

    chunk = story.chunk
    return RunChunkRow(
        chunk=chunk.chunk,
        table=chunk.table,
        reads=piece_words(chunk),
        predicate=predicate_of(chunk),
        status=chunk.status.value,
        attempts=chunk.attempts,
        counts=None if story.counts is None else _counts(story.counts),
        rows=chunk.rows,
        bytes=chunk.bytes,
        seconds=story.seconds,
        winning_attempt=chunk.winning_attempt,
        folder=story.folder,
        error_kind=chunk.error_kind,
        error_message=chunk.error_message,
    )


def _edge_row(edge: Edge, other: str) -> EdgeRow:
    from hakiri.cli.reports.runs import EdgeRow

    return EdgeRow(run=other, kind=edge.kind.value, record=edge.record, reason=edge.reason, at=edge.at)


def _slowest(story: RunStory) -> tuple[SlowChunk, ...]:
    from hakiri.cli.reports.runs import SlowChunk

    spans = story.trace.spans if story.trace is not None else ()
    waits = {
        span.attributes.get("hakiri.chunk_id"): span.attributes.get("hakiri.chunk.wait_ms") for span in spans
    }
    slowest = []
    for each in story.slowest(MOST_SLOW_CHUNKS):
        wait = waits.get(each.chunk.chunk)
        seconds = wait / 1000 if isinstance(wait, int | float) else None
        slowest.append(SlowChunk(chunk=each.chunk.chunk, seconds=each.seconds or 0.0, wait_seconds=seconds))
    return tuple(slowest)


def _behind_global_options(args: Sequence[str]) -> int:
    """Where the first word stands that is no option of every command, nor the value of one."""
    flags = {name: param.is_flag for param in global_options() for name in param.opts}
    at = 0
    while at < len(args) and args[at].partition("=")[0] in flags:
        name, equals, _ = args[at].partition("=")
        at += 1 if flags[name] or equals else 2
    return min(at, len(args))
