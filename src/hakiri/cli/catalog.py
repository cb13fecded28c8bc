"""`hakiri catalog`: where all state is kept, its version, and whether it keeps its promises."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.catalog import Catalog
    from hakiri.catalog.contract.pipelines import PipelineState
    from hakiri.catalog.contract.runs import Run
    from hakiri.catalog.contract.upkeep import Breach, CatalogInfo
    from hakiri.catalog.opening import Place
    from hakiri.cli.app import App
    from hakiri.cli.console import Console
    from hakiri.cli.reports import CatalogCheckReport, CatalogStatusReport
    from hakiri.cli.reports.catalog import PipelineStateRow, PromiseRow, RunRow

cli = group_door(
    "Show, migrate and check the catalog, where all state is kept.\n\n"
    "Cursors, runs, chunks, leases, schemas, lineage and snapshots are in one SQLite file beside the store, "
    "or in the Postgres that `catalog.url` names.",
    epilog=examples("hakiri catalog status", "hakiri catalog migrate", "hakiri catalog check"),
)


@cli.command("status", epilog=examples("hakiri catalog status", "hakiri catalog status --json"))
def status(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Show what and where the catalog is, and how far each pipeline has come.

    Changes nothing, and makes no catalog where there is none yet.
    """
    app = app_of(ctx)
    report = _status(_place_of(app))
    if as_json:
        app.console.data(report)
    else:
        _show_status(app.console, report)


@cli.command("migrate", epilog=examples("hakiri catalog migrate", "hakiri catalog migrate --json"))
def migrate(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Make the catalog, or bring it to the version of this program.

    Not needed before a run, which does the same. There is no way back to an older version.
    """
    from hakiri.cli.reports import CatalogMigrateReport

    app = app_of(ctx)
    place = _place_of(app)
    taken = place.migrate(app.clock.now())
    version = place.newest_version()
    if as_json:
        app.console.data(
            CatalogMigrateReport(backend=place.backend, location=place.location, taken=taken, version=version)
        )
    elif not taken:
        app.console.print(f"nothing to do: the catalog {place.location} has version {version}, the newest")
    elif taken[0] == 1:
        app.console.print(f"made the catalog {place.location} with version {version}")
    else:
        app.console.print(
            f"brought the catalog {place.location} from version {taken[0] - 1} to version {version}"
        )


@cli.command("check", epilog=examples("hakiri catalog check", "hakiri catalog check --json"))
def check(ctx: typer.Context, *, as_json: AsJson = False) -> int:
    """Look whether the catalog keeps all its promises.

    Reads everything that is stored, as of one moment, while others go on working. Exits with 1 when a promise
    is broken.
    """
    from hakiri.cli.progress import steps_shown

    app = app_of(ctx)
    with _place_of(app).open() as catalog, steps_shown(app.console) as tell_step:
        breaches = catalog.check(lambda what: tell_step(f"looking at {what}"))
        report = _check(catalog.info(), breaches)
    if as_json:
        app.console.data(report)
    else:
        _show_check(app.console, report)
    return ExitCode.DONE if report.is_sound else ExitCode.FAILED


def _place_of(app: App) -> Place:
    from hakiri.cli.project import catalog_place_of, project_of, settings_of

    project = project_of(app)
    return catalog_place_of(app, settings_of(app, project), project)


def _status(place: Place) -> CatalogStatusReport:
    from hakiri.cli.reports import CatalogStatusReport
    from hakiri.cli.reports.catalog import DivergenceRow

    version, newest = place.version(), place.newest_version()
    divergences: tuple[DivergenceRow, ...] | None = None
    pipelines: tuple[PipelineStateRow, ...] | None = None
    if version >= newest:  # opening one that is too new says so
        with place.open() as catalog:
            divergences = tuple(
                DivergenceRow(promise=promise, reason=reason)
                for promise, reason in catalog.divergences.items()
            )
            pipelines = tuple(_pipeline_row(catalog, state) for state in catalog.pipelines.all())
    return CatalogStatusReport(
        backend=place.backend,
        location=place.location,
        is_there=version > 0,
        version=version,
        newest_version=newest,
        pending=tuple(range(version + 1, newest + 1)),
        divergences=divergences,
        pipelines=pipelines,
    )


def _pipeline_row(catalog: Catalog, state: PipelineState) -> PipelineStateRow:
    from hakiri.cli.reports.catalog import ChunkCounts, PipelineStateRow

    tally = asdict(catalog.chunks.tally(state.pipeline))
    latest = catalog.runs.latest(state.pipeline, limit=1)
    return PipelineStateRow(
        id=state.pipeline,
        phase=state.phase,
        cursor_kind=state.kind,
        rows=tally.pop("rows"),
        bytes=tally.pop("bytes"),
        chunks=ChunkCounts(**tally),
        last_run=_run_row(latest[0]) if latest else None,
    )


def _run_row(run: Run) -> RunRow:
    from hakiri.cli.reports.catalog import RunRow

    return RunRow(
        run=run.run,
        node=run.node,
        status=run.status,
        started_at=run.started_at,
        ended_at=run.ended_at,
        rows=run.rows,
        bytes=run.bytes,
        error_kind=run.error_kind,
        error_message=run.error_message,
    )


def _show_status(console: Console, report: CatalogStatusReport) -> None:
    console.print(f"catalog  {report.location}")
    console.print(f"backend  {report.backend}")
    console.print(f"version  {_version_words(report)}")
    for row in report.divergences or ():
        console.print(f"differs  {row.promise} is not promised: {row.reason}")
    if report.pipelines is None:
        return
    console.print("")
    if not report.pipelines:
        console.print("no pipeline has run yet")
        return
    console.table(
        ("pipeline", "phase", "cursor", "done", "running", "pending", "failed", "last run (UTC)"),
        [
            (
                each.id,
                each.phase,
                each.cursor_kind,
                str(each.chunks.done),
                str(each.chunks.running),
                str(each.chunks.pending),
                str(each.chunks.failed),
                _run_words(each.last_run),
            )
            for each in report.pipelines
        ],
    )


def _version_words(report: CatalogStatusReport) -> str:
    if not report.is_there:
        return "there is no catalog yet; `hakiri catalog migrate` or the first run makes it"
    if not report.pending:
        return f"{report.version}, the newest"
    steps = ", ".join(map(str, report.pending))
    return f"{report.version}; still to come: {steps}; `hakiri catalog migrate` or the next run takes them"


def _run_words(run: RunRow | None) -> str:
    if run is None:
        return ""
    return f"{run.status} {run.ended_at or run.started_at:%Y-%m-%d %H:%M:%S}"


def _check(info: CatalogInfo, breaches: Sequence[Breach]) -> CatalogCheckReport:
    from hakiri.cli.promises import PROMISES
    from hakiri.cli.reports import CatalogCheckReport
    from hakiri.cli.reports.catalog import BreachRow, PromiseRow

    broken = {breach.invariant for breach in breaches}
    return CatalogCheckReport(
        backend=info.backend,
        location=info.location,
        is_sound=not breaches,
        promises=tuple(
            PromiseRow(
                promise=invariant,
                words=words,
                state="broken"
                if invariant in broken
                else "not made"
                if invariant in info.divergences
                else "kept",
                reason=info.divergences.get(invariant, ""),
            )
            for invariant, words in PROMISES.items()
        ),
        breaches=tuple(
            BreachRow(promise=each.invariant, where=each.where, found=each.found) for each in breaches
        ),
    )


def _show_check(console: Console, report: CatalogCheckReport) -> None:
    if report.is_sound:
        console.print(f"every promise is kept by the catalog {report.location}")
        for row in report.promises:
            console.print(f"  {row.promise:<22}  {_promise_words(row)}")
        return
    console.table(
        ("promise", "where", "found"),
        [(row.promise or "(the database)", row.where, row.found) for row in report.breaches],
    )
    count = len(report.breaches)
    console.note(
        f"the catalog {report.location} is broken in {count} {'place' if count == 1 else 'places'}\n"
        "hint: keep a copy of it as it is, stop all runs, and restore the last backup that passes this check"
    )


def _promise_words(row: PromiseRow) -> str:
    return f"not promised: {row.reason}" if row.state == "not made" else row.words
