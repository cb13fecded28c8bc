"""What can be declared of a table that is read in this way or that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hakiri.core.cursors import CursorKind
from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.manifest import Project, TableSpec, load_project
from hakiri.pipelines.errors import HiddenColumn
from hakiri.pipelines.soundness import (
    DeletesUnsound,
    LagUnsound,
    UnknownDestination,
    Unrunnable,
    check_columns,
    check_destination,
    check_reading,
    require_runnable,
)

CUT = (CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC)
WALKED = (CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID)
LAG = {"lag": "2h"}
MISSING = {"deletes": "missing"}


def table(**fields: Any) -> TableSpec:
    return TableSpec(name="items", **fields)


def refusal(
    declared: TableSpec, *, kind: CursorKind, cursor: str | None, key: tuple[str, ...]
) -> HakiriError | None:
    try:
        check_reading(declared, store="shop_items", kind=kind, cursor=cursor, primary_key=key)
    except HakiriError as error:
        return error
    return None


@pytest.mark.parametrize("kind", CUT)
def test_what_is_read_by_a_column_and_has_a_key_may_have_both(kind: CursorKind) -> None:
    assert refusal(table(**LAG), kind=kind, cursor="at", key=("id",)) is None
    assert refusal(table(**LAG, **MISSING), kind=kind, cursor="at", key=("id",)) is None


@pytest.mark.parametrize("kind", [*CUT, *WALKED])
def test_a_table_that_asks_for_nothing_may_be_read_in_any_way(kind: CursorKind) -> None:
    assert refusal(table(), kind=kind, cursor=None, key=()) is None


def test_a_lag_without_a_key_would_double_rows() -> None:
    error = refusal(table(**LAG), kind=CursorKind.MONOTONIC, cursor="at", key=())

    assert isinstance(error, LagUnsound)
    assert (str(error), error.hint, error.exit_code) == (
        "table `shop_items` cannot have a `lag`: rows that come twice would be doubled, as it has no key",
        'name the columns that tell rows apart: `primary_key = ["…"]` of table `items`',
        ExitCode.USAGE,
    )


@pytest.mark.parametrize(
    ("kind", "cursor"), [(CursorKind.MONOTONIC, None), *[(kind, "at") for kind in WALKED]]
)
def test_a_lag_needs_a_column_to_go_back_by(kind: CursorKind, cursor: str | None) -> None:
    error = refusal(table(**LAG), kind=kind, cursor=cursor, key=("id",))

    assert isinstance(error, LagUnsound)
    assert (str(error), error.hint) == (
        "table `shop_items` cannot have a `lag`: it is not read by the values of a column",
        "name the column with `incremental`, or take the `lag` out",
    )


def test_a_table_that_is_read_as_a_whole_shows_what_is_missing() -> None:
    assert refusal(table(**MISSING), kind=CursorKind.MONOTONIC, cursor=None, key=("id",)) is None


def test_what_is_missing_is_missed_by_its_key() -> None:
    error = refusal(table(**MISSING), kind=CursorKind.MONOTONIC, cursor=None, key=())

    assert isinstance(error, DeletesUnsound)
    assert error.exit_code is ExitCode.USAGE
    assert str(error) == (
        'table `shop_items` cannot have `deletes = "missing"`: it has no key by which rows are missed'
    )


@pytest.mark.parametrize(
    ("kind", "cursor"), [(CUT[0], "at"), (CUT[1], "at"), *[(kind, None) for kind in WALKED]]
)
def test_nothing_is_missing_in_what_is_never_read_again(kind: CursorKind, cursor: str | None) -> None:
    error = refusal(table(**MISSING), kind=kind, cursor=cursor, key=("id",))

    assert isinstance(error, DeletesUnsound)
    assert "nothing is ever read again" in str(error)


@pytest.mark.parametrize("name", ["_seq", "_content_hash", "_reason"])
def test_a_column_with_a_name_of_the_store_is_refused(name: str) -> None:
    with pytest.raises(HiddenColumn):
        check_columns("p", "items", ["id", name])

    check_columns("p", "items", ["id", "_op", "_extra"])


def project_in(folder: Path, text: str) -> Project:
    (folder / "hakiri.toml").write_text(f'[project]\nname = "shop"\n{text}')
    return load_project(folder)


def pipeline(name: str, more: str = "") -> str:
    source = 'source = { connector = "files", config = { path = "*.csv" } }'
    return f'[[pipeline]]\nid = "{name}"\n{source}\ntables = ["{name}"]\n{more}'


def test_a_destination_that_nobody_knows_is_told_with_its_place_and_the_nearest(tmp_path: Path) -> None:
    project = project_in(tmp_path, pipeline("orders", 'destination = { connector = "contxt" }\n'))

    with pytest.raises(UnknownDestination) as refused:
        check_destination(project, project.pipeline("orders"), "context")

    assert (str(refused.value), refused.value.hint, refused.value.places, refused.value.exit_code) == (
        "pipeline `orders` is to write to `contxt`, and there is no such destination",
        "did you mean `context`?",
        (Place("hakiri.toml", 7),),
        ExitCode.USAGE,
    )


def test_a_default_destination_that_nobody_knows_is_told_where_it_is_set(tmp_path: Path) -> None:
    project = project_in(tmp_path, '[context]\ndefault_destination = "lake"\n' + pipeline("orders"))

    with pytest.raises(UnknownDestination) as refused:
        check_destination(project, project.pipeline("orders"), "lake")

    assert (refused.value.places, refused.value.hint) == (
        (Place("hakiri.toml", 4),),
        "write to `context`, the project's store",
    )


def test_everything_that_keeps_pipelines_from_running_is_told_at_once(tmp_path: Path) -> None:
    project = project_in(tmp_path, "".join(pipeline(name) for name in ("a", "b")))

    with pytest.raises(Unrunnable) as refused:
        require_runnable(project, project.pipelines, "lake")

    assert [type(problem) for problem in refused.value.problems] == [UnknownDestination] * 2
    require_runnable(project, project.pipelines, "context")
