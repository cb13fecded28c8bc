"""The connector `files` keeps every promise of a connector."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pa_parquet
import pytest

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.files import FilesConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

ROWS = {"orders": 2_001, "people": 3, "empty": 0}
Write = Callable[[Path, list[dict[str, object]]], None]


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("id,name\n" + "".join(f'{row["id"]},"{row["name"]}"\n' for row in rows))


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    pa_parquet.write_table(_table(rows), path)


def write_orc(path: Path, rows: list[dict[str, object]]) -> None:
    pa_orc.write_table(_table(rows), path)


def _table(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("name", pa.string())]))


@pytest.fixture(params=[write_csv, write_jsonl, write_parquet, write_orc], ids=lambda made: made.__name__)
def write(request: pytest.FixtureRequest) -> Write:
    found: Write = request.param
    return found


class TestFiles(ConnectorContract):
    @pytest.fixture
    def source(self, tmp_path: Path, write: Write) -> Subject:
        kind = write.__name__.removeprefix("write_")
        columns = {"columns": {"id": "bigint", "name": "string"}} if kind in ("csv", "jsonl") else {}

        def put(table: str, number: int, first: int, count: int) -> None:
            folder = tmp_path / table
            folder.mkdir(exist_ok=True)
            rows: list[dict[str, object]] = [
                {"id": first + row, "name": f"{table} {row}\n"} for row in range(count)
            ]
            write(folder / f"{number}.{kind}", rows)

        for table, count in ROWS.items():
            put(table, 0, 0, count // 2)
            put(table, 1, count // 2, count - count // 2)

        def grow(table: str) -> int:
            number = len(list((tmp_path / table).iterdir()))
            put(table, number, number * 1_000_000, 2)
            return 2

        @contextmanager
        def gone() -> Iterator[None]:
            hidden = [
                path.rename(path.with_name(f"_{path.name}")) for path in tmp_path.rglob(f"[!_]*.{kind}")
            ]
            yield
            for path in hidden:
                path.rename(path.with_name(path.name.removeprefix("_")))

        return Subject(
            make=maker(FilesConnector, {"path": f"{{table}}/*.{kind}", **columns}),
            rows=ROWS,
            root=tmp_path,
            grow=grow,
            breakages={PermanentFailure: gone},
        )
