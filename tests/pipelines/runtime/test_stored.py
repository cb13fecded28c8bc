"""What is stored, as pipelines read it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.store.workshop import ORDERS, open_workshop

from hakiri.pipelines.stored import stored_rows, stored_table
from hakiri.store.reading import VisibleFiles

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.mark.spark
@pytest.mark.parametrize("name", ["[x]", "{x,y}"])
def test_a_store_whose_path_looks_like_a_pattern_is_read_from_its_own_files(
    spark: Any, tmp_path: Path, name: str
) -> None:
    files: dict[str, tuple[Path, ...]] = {}
    for folder in ("x", "y", name):
        with open_workshop(tmp_path / folder) as workshop:
            workshop.land([{"id": 1, "name": folder}], SCHEMA, "id")
            files[folder] = tuple(workshop.layout.root.rglob("*.parquet"))
    visible = VisibleFiles(primary_key=("id",), schemas={1: SCHEMA}, files={1: files[name]}, quarantine=())

    assert stored_rows(spark, ORDERS, visible).select("name").toArrow().to_pylist() == [{"name": name}]
    assert stored_table(spark, ORDERS, visible).toArrow().to_pylist() == [{"id": 1, "name": name}]
