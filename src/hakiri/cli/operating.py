"""What the commands of operators share: the state of the project, who asks, and words for what there is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.catalog.contract.chunks import Chunk
    from hakiri.catalog.opening import Place as CatalogPlace
    from hakiri.cli.app import App
    from hakiri.cli.console import Console
    from hakiri.cli.reports.operations import PieceRow
    from hakiri.core.settings import Settings
    from hakiri.manifest import Project
    from hakiri.pipelines.operations.changing import Operator
    from hakiri.store.layout import StoreLayout

PipelineArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the pipeline.")]
AsWhom = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="WHO", help="Who decides: a name, or `agent:<id>`. Default: your login name."
    ),
]
# What a predicate takes that is readable, on a screen that has not room for all of it.
COMFORT = 44
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_TWO_DIGITS = 100
_FEW_SECONDS = 10
_FULL_ROWS = 10_000
_WHO = re.compile(r"(?:operator|agent):\S+|(?!(?:operator|agent):)[^\s:]\S*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The project that an operator looks after. Nothing is opened yet, and nothing was made."""

    app: App
    project: Project
    settings: Settings
    layout: StoreLayout
    place: CatalogPlace

    @contextmanager
    def looking(self) -> Iterator[Catalog | None]:
        """The catalog as it is; None while there is none, because nothing ran yet. Raises CatalogTooOld."""
        if self.place.version() == 0:
            yield None
            return
        with self.place.open() as catalog:
            yield catalog

    @contextmanager
    def changing(self) -> Iterator[Catalog | None]:
        """The catalog, brought up to date if need be; None while there is none."""
        if self.place.version() == 0:
            yield None
            return
        with self.place.open(migrated_at=self.app.clock.now()) as catalog:
            yield catalog

    def operator(self, catalog: Catalog, who: str | None) -> Operator:
        """Who changes something, now."""
        from hakiri.core.ids import NodeId, RunId, fresh_entropy, new_uuid7
        from hakiri.pipelines.operations.changing import Operator

        now = self.app.clock.now()
        unique = new_uuid7(now, fresh_entropy())
        return Operator(
            catalog=catalog,
            node=NodeId(f"operator-{unique}"),
            run=RunId(f"operator-{unique}"),
            by=decider(self.app, who),
            now=now,
        )


def desk_of(app: App) -> Desk:
    """The project, its settings, and where its state is kept."""
    from hakiri.cli.project import catalog_place_of, project_of, settings_of
    from hakiri.cli.runtime import layout_of

    project = project_of(app)
    settings = settings_of(app, project)
    return Desk(
        app=app,
        project=project,
        settings=settings,
        layout=layout_of(app, settings, project),
        place=catalog_place_of(app, settings, project),
    )


def decider(app: App, who: str | None) -> str:
    """The name under which a decision is recorded: as given, else the login name that the environment has."""
    name = who or app.env.get("USER") or app.env.get("LOGNAME") or ""
    if not _WHO.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be the name of who decides" if name else "nobody says who decides",
            hint="give a name without blanks with `--as`, or `--as agent:<id>`",
        )
    return name if name.startswith(("operator:", "agent:")) else f"operator:{name}"


def is_meant(app: App, question: str, *, what: str) -> bool:
    """Ask whether it is meant. Raises UsageError, which says `what` it is, when there is nobody to ask."""
    if not (app.stdin.isatty() and app.console.err.isatty()):
        raise UsageError(f"{what}, and there is nobody to ask", hint="add `--yes` if it is meant")
    app.console.err.write(f"{question} [y/N] ")
    app.console.err.flush()
    return app.stdin.readline().strip().lower() in ("y", "yes")


def piece_words(chunk: Chunk) -> str:
    """What the chunk reads, or why it compacts; its predicate as it is if a later version has written it."""
    from hakiri.cli.board.words import predicate_words
    from hakiri.core.ids import is_compaction
    from hakiri.pipelines.chunks.errors import BadPiece
    from hakiri.pipelines.chunks.pieces import Piece
    from hakiri.pipelines.chunks.wording import describe

    if is_compaction(chunk.pipeline):
        return str(predicate_of(chunk).get("why", ""))

    try:
        return predicate_words(describe(Piece.parse(chunk.predicate)))
    except BadPiece:
        return chunk.predicate


def brief_time(seconds: float) -> str:
    """Some time in one unit: `4.2 s`, `42 s`, `61 min`, `25 h`, `9 d`."""
    if seconds < _FEW_SECONDS:
        return f"{max(seconds, 0):.1f} s"
    if seconds < _TWO_DIGITS:
        return f"{seconds:.0f} s"
    if seconds < _TWO_DIGITS * _MINUTE:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _TWO_DIGITS * _HOUR:
        return f"{seconds / _HOUR:.0f} h"
    return f"{seconds / _DAY:.0f} d"


def ago(moment: datetime, now: datetime) -> str:
    """How long ago it was; a clock that is ahead of ours makes it no time at all."""
    seconds = (now - moment).total_seconds()
    return "just now" if seconds < _FEW_SECONDS else f"{brief_time(seconds)} ago"


def brief_count(number: int) -> str:
    """`900`, `9,999`, `41.2k`, `1.24M`: three digits that count."""
    if number < _FULL_ROWS:
        return f"{number:,}"
    from hakiri.core.grammar import format_size

    return format_size(number).removesuffix("B")


def moment_words(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other; those without a value are left out."""
    for line in fact_lines(console, facts):
        console.print(line)


def fact_lines(console: Console, facts: Sequence[tuple[str, str]]) -> list[str]:
    from hakiri.cli.columns import width_of

    told = [(name, value) for name, value in facts if value]
    names = max((len(name) for name, _ in told), default=0)
    lines = []
    for name, value in told:
        first = f"  {name:<{names}}  "
        lines += wrapped(value, width_of(console), first=first, rest=" " * len(first))
    return lines


def wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of so many cells; commands and ids in it are not broken."""
    from hakiri.cli.values import shown_cell

    return textwrap.wrap(
        shown_cell(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def predicate_of(chunk: Chunk) -> Any:
    """The predicate as JSON values, for programs."""
    import json

    return json.loads(chunk.predicate)


def piece_rows(chunks: Sequence[Chunk]) -> tuple[PieceRow, ...]:
    """Chunks in short, as reports carry them."""
    from hakiri.cli.reports.operations import PieceRow

    return tuple(
        PieceRow(
            chunk=chunk.chunk, table=chunk.table, reads=piece_words(chunk), predicate=predicate_of(chunk)
        )
        for chunk in chunks
    )


def show_pieces(console: Console, rows: Sequence[PieceRow]) -> None:
    """Print which chunks are meant, and what they read."""
    from hakiri.cli.columns import Column, print_columns

    print_columns(
        console,
        [
            Column(title="chunk", cells=[str(row.chunk) for row in rows], is_number=True),
            Column(title="table", cells=[row.table for row in rows]),
            Column(title="reads", cells=[row.reads for row in rows], comfort=COMFORT),
        ],
    )
