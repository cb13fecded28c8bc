"""Where things lie in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.store.errors import UnsafeName
from hakiri.store.layout import StoreLayout

LAYOUT = StoreLayout(Path("/data/shop"))


@pytest.mark.spec("HP-118")
def test_an_attempt_has_a_folder_of_its_own() -> None:
    folder = LAYOUT.attempt_folder(table="orders", run="0196be00-1", node="node-anna", chunk=47, number=2)

    assert LAYOUT.relative(folder) == "tables/orders/data/runs/0196be00-1/node-anna/chunk-47/attempt-2"


@pytest.mark.spec("HP-119")
def test_no_two_attempts_share_a_folder() -> None:
    first = {"table": "orders", "run": "r1", "node": "a", "chunk": 1, "number": 1}
    others = [{"table": "items"}, {"run": "r2"}, {"node": "b"}, {"chunk": 2}, {"number": 2}]

    folders = [LAYOUT.attempt_folder(**first | other) for other in ({}, *others)]  # type: ignore[arg-type]

    assert len(set(folders)) == len(folders)


def test_the_files_of_a_table_have_fixed_names() -> None:
    files = [LAYOUT.schema_file("orders"), LAYOUT.schema_history("orders"), LAYOUT.view_file("orders")]

    assert [LAYOUT.relative(path) for path in [*files, LAYOUT.views, LAYOUT.duck_db]] == [
        "tables/orders/schema.json",
        "tables/orders/schema-history.jsonl",
        "views/orders.sql",
        "views",
        "duck.db",
    ]


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "a b", "a\nb", "x" * 201, "ä", "a\0"])
def test_a_name_that_is_no_safe_path_part_is_refused(name: str) -> None:
    with pytest.raises(UnsafeName):
        LAYOUT.table_folder(name)
    with pytest.raises(UnsafeName):
        LAYOUT.view_file(name)
    with pytest.raises(UnsafeName):
        LAYOUT.attempt_folder(table="orders", run=name, node="a", chunk=1, number=1)
    with pytest.raises(UnsafeName):
        LAYOUT.attempt_folder(table="orders", run="r", node=name, chunk=1, number=1)


def test_a_store_has_an_absolute_root() -> None:
    with pytest.raises(ValueError, match="absolute path, not `context/shop`"):
        StoreLayout(Path("context/shop"))
