"""A file that may not grow, or not be made: the task tells what the disk said, and leaves no half file."""

from __future__ import annotations

import resource
import secrets
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.victims import in_child

from hakiri.core.ids import PipelineId, RunId
from hakiri.pipelines.errors import StoreNotWritten
from hakiri.pipelines.runtime.sinks import AttemptSink, AttemptSinks
from hakiri.store.rows import Stamp
from hakiri.store.writing import BadRows, Shape

SCHEMA = pa.schema({"id": pa.int64(), "v": pa.string()})
LARGEST_BYTES = 64 * 1024


def sinks_below(folder: Path) -> AttemptSinks:
    return AttemptSinks(
        folders=(str(folder),),
        stamps=(
            Stamp(
                run=RunId("run-1"),
                pipeline=PipelineId("p"),
                seq=1,
                ingested_at=datetime(2026, 5, 12, tzinfo=UTC),
            ),
        ),
        shape=Shape(schema=SCHEMA, primary_key=("id",), schema_version=0, bad_rows=BadRows.FAIL),
    )


def rows(count: int) -> pa.RecordBatch:
    """Rows of 1,000 bytes that cannot be packed."""
    return pa.RecordBatch.from_pylist(
        [{"id": number, "v": secrets.token_hex(1000)} for number in range(count)], schema=SCHEMA
    )


def finished(sink: AttemptSink, batch: pa.RecordBatch) -> str:
    sink.write(batch)
    return sink.finish()


def write_too_much(folder: Path) -> tuple[str, str, list[str]]:
    """Write more than a file of this process may hold; the error, its hint, and the files that are left."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_BYTES, resource.RLIM_INFINITY))
    sink = sinks_below(folder)(0)
    with pytest.raises(StoreNotWritten) as failed:
        finished(sink, rows(200))
    sink.abandon()
    return str(failed.value), failed.value.hint, sorted(path.name for path in folder.iterdir())


def test_a_file_that_may_not_grow_is_told_as_a_disk_without_room(tmp_path: Path) -> None:
    error, hint, left = in_child(write_too_much, tmp_path)

    assert error == f"the store could not be written: File too large, in `{tmp_path}`"
    assert hint.startswith("make room, then run `hakiri retry` and `hakiri apply`")
    assert left == []


def test_a_folder_that_cannot_be_made_is_told_as_a_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file stands where the folder belongs")

    sink = sinks_below(tmp_path / "taken" / "attempt-1")(0)
    with pytest.raises(StoreNotWritten) as failed:
        finished(sink, rows(1))
    sink.abandon()

    assert not failed.value.is_full
    assert failed.value.hint.startswith("look at the disk and its permissions, then run `hakiri retry`")
