"""Whether a declaration can do what it says: told without reading a row, to a plan and to a run alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hakiri.core.cursors import CursorKind
from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.core.ids import PipelineId, TableName
from hakiri.core.nearest import nearest
from hakiri.pipelines.applied import cursor_applied
from hakiri.pipelines.errors import HiddenColumn, OtherCursor
from hakiri.transforms import fresh_artifacts

if TYPE_CHECKING:
    import pyarrow as pa

    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project, TableSpec

# Where rows can go. The store of the project is the only one.
DESTINATIONS = ("context",)


class UnknownDestination(HakiriError):
    """A pipeline is to write to something that nobody knows."""

    code = "pipelines.unknown_destination"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, connector: str, place: Place) -> None:
        self.pipeline, self.connector = pipeline, connector
        meant = nearest(connector, DESTINATIONS)
        super().__init__(
            f"pipeline `{pipeline}` is to write to `{connector}`, and there is no such destination",
            places=[place],
            hint=f"did you mean `{meant}`?"
            if meant
            else f"write to `{DESTINATIONS[0]}`, the project's store",
        )


class Unrunnable(HakiriError):
    """Several pipelines cannot be run; each problem is told."""

    code = "pipelines.unrunnable"
    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[HakiriError]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} things keep pipelines from being run")


class LagUnsound(HakiriError):
    """A `lag` that would double rows, or that nothing is read by."""

    code = "pipelines.lag_unsound"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, why: str, hint: str) -> None:
        self.table = table
        super().__init__(f"table `{table}` cannot have a `lag`: {why}", hint=hint)


class DeletesUnsound(HakiriError):
    """`deletes = "missing"` where nothing shows what is missing."""

    code = "pipelines.deletes_unsound"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, why: str, hint: str) -> None:
        self.table = table
        super().__init__(f'table `{table}` cannot have `deletes = "missing"`: {why}', hint=hint)


class TableNameTaken(HakiriError):
    """A table would be new to a store that has one of nearly the same name."""

    code = "pipelines.table_name_taken"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, known: str) -> None:
        self.table, self.known = table, known
        super().__init__(
            f"the store has a table `{known}`, from which `{table}` differs in case alone: SQL knows no case",
            hint=f'name it with `as = "{known}"` to go on with that table, or give it another name',
        )


@contextmanager
def told_where(project: Project, spec: PipelineSpec, *path: str | int) -> Iterator[None]:
    """Have what is raised in the block say where in the manifest it is about, unless it says so itself."""
    try:
        yield
    except HakiriError as error:
        error.places = error.places or (project.place_in(spec.id, *path),)
        raise


def require_runnable(project: Project, specs: Sequence[PipelineSpec], default_destination: str) -> None:
    """Raise all that keeps these from being run, as far as the project alone tells.

    That is UnknownDestination, and TransformStale or TransformMissing for a transform that is not what its
    author's file says; Unrunnable for several of them.
    """
    problems = [each for spec in specs for each in unsound_parts(project, spec, default_destination)]
    if problems:
        raise problems[0] if len(problems) == 1 else Unrunnable(problems)


def unsound_parts(project: Project, spec: PipelineSpec, default_destination: str) -> Iterator[HakiriError]:
    """What is wrong with a pipeline, whatever its source says."""
    try:
        check_destination(project, spec, default_destination)
    except HakiriError as error:
        yield error
    try:
        fresh_artifacts(spec, project.root)
    except HakiriError as error:
        yield error


def check_destination(project: Project, spec: PipelineSpec, default: str) -> None:
    """Raise UnknownDestination for a pipeline whose rows have nowhere to go."""
    connector = project.destination_of(spec, default).connector
    if connector in DESTINATIONS:
        return
    if spec.destination is not None:
        place = project.place_in(spec.id, "destination", "connector")
    else:
        settings = project.setting_places()
        place = settings.get("context.default_destination", project.place_of(spec.id))
    raise UnknownDestination(spec.id, connector, place)


def check_reading(
    table: TableSpec, *, store: str, kind: CursorKind, cursor: str | None, primary_key: tuple[str, ...]
) -> None:
    """Raise LagUnsound and DeletesUnsound for what cannot work on a table that is read like this.

    `kind` and `cursor` are how news of it are found; a table without a cursor is read as a whole each time.
    """
    name_a_key = f'name the columns that tell rows apart: `primary_key = ["…"]` of table `{table.name}`'
    if table.lag is not None:
        if not kind.is_cut or cursor is None:
            why = "it is not read by the values of a column"
            raise LagUnsound(store, why, "name the column with `incremental`, or take the `lag` out")
        if not primary_key:
            raise LagUnsound(store, "rows that come twice would be doubled, as it has no key", name_a_key)
    if table.deletes != "missing":
        return
    if not primary_key:
        raise DeletesUnsound(store, "it has no key by which rows are missed", name_a_key)
    if not kind.is_cut:
        why = "the source is read on by its own tokens, and nothing is ever read again"
        raise DeletesUnsound(store, why, "take it out; deletes that a source tells of are always followed")
    if cursor is not None and table.lag is None:
        why = f"only what is new by `{cursor}` is read, so that nothing is ever read again"
        hint = "set a `lag`: keys are compared within it; without `incremental` they are in the whole table"
        raise DeletesUnsound(store, why, hint)


def check_same_cursor(catalog: Catalog, spec: PipelineSpec, table: TableSpec) -> None:
    """Raise OtherCursor if a table that has rows was followed by another column when it was applied.

    To be asked of a table without a key: read in another way, its rows would come once more.
    """
    pipeline = PipelineId(spec.id)
    applied = catalog.pipelines.applied(pipeline)
    before, now = (None if applied is None else cursor_applied(applied, table.name)), spec.cursor_of(table)
    if applied is None or before == now:
        return
    store = TableName(spec.store_name(table))
    if any(chunk.pipeline == pipeline and chunk.rows for chunk in catalog.chunks.landed(store)):
        raise OtherCursor(store, before, now)


def check_columns(pipeline: str, table: str, columns: Sequence[str]) -> None:
    """Raise HiddenColumn for a column with a name that the store needs for itself."""
    from hakiri.sources.contract import OP_COLUMN
    from hakiri.store.rows import HIDDEN, REASON

    taken = {*HIDDEN, REASON} - {OP_COLUMN}
    hidden = [name for name in columns if name in taken]
    if hidden:
        raise HiddenColumn(pipeline, table, hidden[0])


def check_name(catalog: Catalog, table: TableName) -> None:
    """Raise TableNameTaken if a new table would be shown under the name of one that the store has.

    The manifest tells this of tables that are both in it; one may have been there before.
    """
    from hakiri.store.known_tables import known_tables

    if catalog.schemas.current(table) is not None:
        return
    for known in known_tables(catalog):
        if known.casefold() == table.casefold():
            raise TableNameTaken(table, known)


def check_rules(project: Project, spec: PipelineSpec, number: int, columns: pa.Schema | None) -> None:
    """Raise BadExpectations for what cannot be expected of the table of this number.

    Without its columns, only what is wrong whatever they are.
    """
    from hakiri.pipelines.expectations import check_expectations

    table = spec.tables[number]
    if table.expect:
        check_expectations(
            table.expect,
            table=spec.store_name(table),
            columns=columns,
            place_of=lambda rule: project.place_in(spec.id, "tables", number, "expect", rule),
        )
