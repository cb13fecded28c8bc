"""Whether whole numbers are doubles, out of the footers of Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipelines.evolution.evolving import evolved
from tests.pipelines.evolution.shapes import DOUBLE, INT64, TEXT, shape, was_called

from hakiri.pipelines.evolution import TableShape, exact_columns
from hakiri.pipelines.evolution.forms import list_of

EXACT, BEYOND = 2**53, 2**53 + 1
NESTED = pa.struct([("x", INT64), ("y", list_of(pa.map_(TEXT, INT64)))])
NESTED_DOUBLE = pa.struct([("x", DOUBLE), ("y", list_of(pa.map_(TEXT, DOUBLE)))])


def written(folder: Path, number: int, schema: TableShape, rows: list[dict[str, object]]) -> Path:
    file = folder / f"part-{number}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema.schema), file)
    return file


@pytest.mark.spec("HP-068")
def test_a_column_is_exact_if_every_file_says_so(tmp_path: Path) -> None:
    stored, incoming = shape(a=INT64, b=INT64, c=INT64), shape(a=DOUBLE, b=DOUBLE, c=DOUBLE)
    files = [
        written(
            tmp_path, 1, stored, [{"a": EXACT, "b": 1, "c": None}, {"a": -EXACT, "b": -EXACT, "c": None}]
        ),
        written(tmp_path, 2, stored, [{"a": None, "b": BEYOND, "c": None}]),
        written(tmp_path, 3, stored, []),
        written(tmp_path, 4, shape(a=DOUBLE), [{"a": 1e300}]),
    ]

    assert exact_columns(stored, incoming, files) == {"a", "c"}
    assert exact_columns(stored, incoming, []) == {"a", "b", "c"}


def test_numbers_inside_of_other_types_are_looked_at_too(tmp_path: Path) -> None:
    stored, incoming = shape(s=NESTED), shape(s=NESTED_DOUBLE)
    fine = written(tmp_path, 1, stored, [{"s": {"x": 1, "y": [[("k", EXACT)]]}}])
    far = written(tmp_path, 2, stored, [{"s": {"x": 1, "y": [[("k", BEYOND)], []]}}])

    assert exact_columns(stored, incoming, [fine]) == {"s.x", "s.y[][value]"}
    assert exact_columns(stored, incoming, [fine, far]) == {"s.x"}
    assert not evolved(stored, incoming, exact=tuple(exact_columns(stored, incoming, [fine]))).is_refused


def test_a_renamed_column_is_found_under_its_former_names(tmp_path: Path) -> None:
    stored = evolved(shape(a=INT64), shape(b=was_called("a", INT64))).shape
    old = written(tmp_path, 1, shape(a=INT64), [{"a": BEYOND}])

    assert exact_columns(stored, shape(b=DOUBLE), [old]) == frozenset()
    assert exact_columns(stored, shape(c=was_called("b", DOUBLE)), [old]) == frozenset()
    assert exact_columns(stored, shape(c=was_called("b", DOUBLE)), []) == {"c"}


def test_a_file_without_statistics_proves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    pq.write_table(pa.table({"a": [1]}), file, write_statistics=False)

    assert exact_columns(shape(a=INT64), shape(a=DOUBLE), [file]) == frozenset()


def test_where_nothing_is_in_doubt_no_file_is_opened(tmp_path: Path) -> None:
    assert exact_columns(shape(a=INT64), shape(a=INT64), [tmp_path / "none.parquet"]) == frozenset()
