"""The page about the format is enough to write a reader: its code is run on real stores."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.store.random_rows import batches
from tests.store.workshop import Workshop

from hakiri.store.hashing import content_hash
from hakiri.store.layout import StoreLayout
from hakiri.store.rows import HIDDEN_FIELDS, QUARANTINE_FIELDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "format.md"
CODE = dict(re.findall(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def function(name: str) -> Any:
    names: dict[str, Any] = {}
    exec(CODE[name], names)
    return names[name]


HASH_OF_PAGE = function("content_hash")


@settings(max_examples=30, deadline=None)
@given(rows=batches())
@pytest.mark.spec("HP-146")
def test_the_content_hash_of_the_page_is_that_of_the_store(rows: pa.RecordBatch) -> None:
    assert [HASH_OF_PAGE(row) for row in rows.to_pylist()] == [content_hash(row) for row in rows.to_pylist()]


def test_the_canonical_form_that_the_page_shows_is_right() -> None:
    shown = re.search(r"canonical form of this row is `(.*?)`:", PAGE.read_text("utf-8"))
    assert shown is not None

    assert (
        HASH_OF_PAGE({"id": 7, "name": "Ada", "tags": ["a", "b"]})
        == hashlib.sha256(shown[1].encode()).digest()[:16]
    )


def test_the_reader_of_the_page_reads_what_the_view_shows(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}], SCHEMA, "id")
    workshop.land([{"id": 1, "name": "A"}, {"id": 2, "_op": "delete"}], SCHEMA, "id")
    workshop.publish()

    rows = function("read_table")(workshop.layout.root, "orders")

    assert sorted((row["id"], row["name"]) for row in rows) == workshop.query("FROM orders ORDER BY id")
    assert all(row["_content_hash"] == HASH_OF_PAGE(row) for row in rows)


def test_the_page_names_every_column_and_file_of_the_store() -> None:
    layout = StoreLayout(Path("/store"))
    names = [field.name for field in (*HIDDEN_FIELDS, *QUARANTINE_FIELDS)]
    files = [layout.schema_file("orders"), layout.schema_history("orders"), layout.view_file("orders")]

    text = PAGE.read_text("utf-8")

    assert [
        name
        for name in [*names, *(file.name for file in files), "config.toml", "duck.db"]
        if name not in text
    ] == []
