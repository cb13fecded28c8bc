"""The rows of an attempt become Parquet files: complete, hashed, and the same for the same rows."""

from __future__ import annotations

import errno
import hashlib
import pickle
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.store.random_rows import batches
from tests.store.recording import Recording
from tests.store.workshop import STAMP, Rows, batch, shape_of

from hakiri.store.errors import BadRow, UnfitColumns
from hakiri.store.files import LocalFiles, Outlet
from hakiri.store.hashing import content_hash
from hakiri.store.parts import BYTES_A_GROUP
from hakiri.store.writing import AttemptWriter, BadRows, Shape, WrittenPart

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
BY_ID = shape_of(SCHEMA, "id")
PATIENT = shape_of(SCHEMA, "id", bad_rows=BadRows.QUARANTINE)
ADA, BO = {"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}


def written(
    folder: Path, *batches: pa.RecordBatch, shape: Shape = BY_ID, part: int = 0, **options: Any
) -> WrittenPart:
    writer = AttemptWriter(folder, shape, STAMP, part=part, **options)
    for rows in batches:
        writer.write(rows)
    return writer.finish()


def rows_of(folder: Path, name: str = "part-00000.parquet") -> Rows:
    found: Rows = pq.read_table(folder / name).to_pylist()
    return found


def own(rows: Rows) -> Rows:
    return [{name: value for name, value in row.items() if not name.startswith("_")} for row in rows]


@pytest.mark.spec("HP-146")
@pytest.mark.spec("HP-149")
def test_every_row_says_where_it_comes_from_and_what_its_content_is(tmp_path: Path) -> None:
    written(tmp_path / "attempt", batch([ADA, BO], SCHEMA), part=3)

    assert rows_of(tmp_path / "attempt", "part-00003.parquet") == [
        {
            **row,
            "_run_id": "run-1",
            "_pipeline_id": "shop",
            "_ingested_at": STAMP.ingested_at,
            "_seq": 7,
            "_position": (3 << 40) + number,
            "_op": "upsert",
            "_content_hash": content_hash(row),
        }
        for number, row in enumerate((ADA, BO))
    ]


def test_what_was_written_is_told_with_its_size_and_hash(tmp_path: Path) -> None:
    part = written(tmp_path, batch([ADA, BO], SCHEMA))

    data = (tmp_path / "part-00000.parquet").read_bytes()
    (file,) = part.files
    assert (file.name, file.rows, file.bytes) == ("part-00000.parquet", 2, len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert (part.rows, part.quarantined, part.quarantine) == (2, 0, ())
    assert part.content_sum == sum(int.from_bytes(content_hash(row)) for row in (ADA, BO)) % 2**128


def test_the_same_rows_give_the_same_bytes_however_they_come(tmp_path: Path) -> None:
    rows = batch([{"id": number, "name": f"name {number % 7}"} for number in range(1000)], SCHEMA)
    cuts = {"whole": [rows], "cut": [rows[:1], rows[1:400], rows[400:400], rows[400:]]}

    hashes = {
        written(tmp_path / name, *batches, rows_a_group=300).files[0].sha256 for name, batches in cuts.items()
    }

    assert len(hashes) == 1
    groups = pq.ParquetFile(tmp_path / "cut/part-00000.parquet").metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [300] * 3 + [100]


def test_wide_rows_make_row_groups_of_fewer_rows(tmp_path: Path) -> None:
    text = "x" * (BYTES_A_GROUP // 4)

    written(tmp_path, batch([{"id": number, "name": text} for number in range(6)], SCHEMA))

    metadata = pq.ParquetFile(tmp_path / "part-00000.parquet").metadata
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [4, 2]


def test_no_rows_make_no_file_and_no_folder(tmp_path: Path) -> None:
    part = written(tmp_path / "attempt", batch([], SCHEMA))

    assert part == WrittenPart(files=(), quarantine=(), rows=0, quarantined=0, content_sum=0)
    assert not (tmp_path / "attempt").exists()


def test_a_file_is_durable_before_it_is_told(tmp_path: Path) -> None:
    disk = Recording(tmp_path)

    written(tmp_path / "attempt", batch([ADA], SCHEMA), files=disk)

    assert disk.steps == [
        "mkdir attempt",
        "create attempt/part-00000.parquet",
        "write attempt/part-00000.parquet",
        "sync attempt/part-00000.parquet",
        "syncdir attempt",
    ]


@pytest.mark.spec("HP-119")
def test_a_task_that_is_tried_again_writes_beside_the_first(tmp_path: Path) -> None:
    first = AttemptWriter(tmp_path, BY_ID, STAMP, part=2, rows_a_group=1)
    first.write(batch([ADA], SCHEMA))

    names = [written(tmp_path, batch([ADA], SCHEMA), part=2).files[0].name for _ in range(2)]

    assert names == ["part-100002.parquet", "part-200002.parquet"]
    assert first.finish().files[0].name == "part-00002.parquet"
    assert rows_of(tmp_path, "part-00002.parquet") == rows_of(tmp_path, "part-100002.parquet")


def test_columns_come_by_name_and_missing_ones_are_null(tmp_path: Path) -> None:
    shape = shape_of(pa.schema([("a", pa.int64()), ("b", pa.float64()), ("c", pa.string())]))

    written(tmp_path, pa.RecordBatch.from_pydict({"c": ["x"], "a": pa.array([1], pa.int8())}), shape=shape)

    assert own(rows_of(tmp_path)) == [{"a": 1, "b": None, "c": "x"}]


def test_a_delete_has_its_key_and_nothing_else(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict(
        {"id": [1, 2, 3], "name": ["a", "b", "c"], "_op": ["delete", "upsert", None]}
    )

    written(tmp_path, rows)

    assert [(row["id"], row["name"], row["_op"]) for row in rows_of(tmp_path)] == [
        (1, None, "delete"),
        (2, "b", "upsert"),
        (3, "c", "upsert"),
    ]


def test_a_delete_is_not_looked_at_outside_of_its_key(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [1], "name": [b"bytes, not text"], "_op": ["delete"]})

    assert written(tmp_path, rows).rows == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"id": [1, 2], "name": [None, b"x"]},
            "column `name` of row 2 holds a value of type binary that does not fit string without loss",
        ),
        ({"id": [1, None]}, "column `id` of row 2 is NULL and belongs to the primary key"),
        ({"id": [1, 2], "_op": ["upsert", "drop"]}, "column `_op` of row 2 is neither `upsert` nor `delete`"),
        ({"name": ["a", "b"]}, "column `id` of row 1 is NULL and belongs to the primary key"),
    ],
)
def test_a_bad_row_fails_the_write_with_its_place(
    tmp_path: Path, rows: dict[str, list[Any]], message: str
) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0)

    with pytest.raises(BadRow) as caught:
        writer.write(pa.RecordBatch.from_pydict(rows))

    assert str(caught.value) == message
    assert "quarantine" in caught.value.hint


def test_rows_of_all_batches_are_counted_when_one_is_bad(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0)
    writer.write(batch([ADA, BO], SCHEMA))

    with pytest.raises(BadRow, match="of row 3 is NULL"):
        writer.write(batch([{"id": None, "name": "x"}], SCHEMA))


def test_a_delete_needs_a_table_with_a_key(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, shape_of(SCHEMA), STAMP, part=0)

    with pytest.raises(BadRow, match="asks for a delete, and the table has no primary key"):
        writer.write(pa.RecordBatch.from_pydict({"id": [1], "_op": ["delete"]}))


def test_bad_rows_are_put_aside_with_the_reason_and_their_place(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    shape = shape_of(schema, "id", bad_rows=BadRows.QUARANTINE)
    moment = datetime(2026, 5, 11, tzinfo=UTC)
    rows = pa.RecordBatch.from_pydict(
        {"id": [1, 2**40, None], "at": pa.array([moment] * 3, pa.timestamp("us", "UTC"))}
    )

    part = written(tmp_path, rows, shape=shape, part=1)

    assert (part.rows, part.quarantined) == (1, 2)
    assert [row["_position"] for row in rows_of(tmp_path, "part-00001.parquet")] == [1 << 40]
    assert part.quarantine[0].rows == 2
    stamped = {"_run_id": "run-1", "_pipeline_id": "shop", "_ingested_at": STAMP.ingested_at, "_seq": 7}
    assert rows_of(tmp_path, "quarantine-00001.parquet") == [
        {
            "_reason": "column `id` holds a value of type int64 that does not fit int32 without loss",
            "_row": f'{{"id":{2**40},"at":"2026-05-11 00:00:00.000000Z"}}',
            **stamped,
            "_position": (1 << 40) + 1,
        },
        {
            "_reason": "column `id` is NULL and belongs to the primary key",
            "_row": '{"id":null,"at":"2026-05-11 00:00:00.000000Z"}',
            **stamped,
            "_position": (1 << 40) + 2,
        },
    ]


def test_rows_of_which_there_is_only_a_text_are_put_aside_in_their_place(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, PATIENT, STAMP, part=1)

    writer.write(batch([ADA, {"id": None, "name": "x"}], SCHEMA))
    writer.set_aside(["`id` has `x`, which is no int64"] * 2, ['{"id":"x"}', '{"_line":"x,,"}'])
    writer.write(batch([BO], SCHEMA))
    part = writer.finish()

    assert (part.rows, part.quarantined, part.quarantine[0].rows) == (2, 3, 3)
    aside = rows_of(tmp_path, "quarantine-00001.parquet")
    assert [row["_row"] for row in aside] == ['{"id":null,"name":"x"}', '{"id":"x"}', '{"_line":"x,,"}']
    assert [row["_position"] - (1 << 40) for row in aside] == [1, 2, 3]
    assert {(row["_run_id"], row["_seq"]) for row in aside} == {("run-1", 7)}
    kept = rows_of(tmp_path, "part-00001.parquet")
    assert [row["_position"] - (1 << 40) for row in kept] == [0, 4]


def test_rows_with_a_given_reason_are_put_aside_also_where_bad_rows_fail(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0)

    writer.write(batch([ADA, {"id": None, "name": "x"}, BO], SCHEMA), pa.array([None, "not known", None]))
    part = writer.finish()

    assert own(rows_of(tmp_path)) == [ADA, BO]
    assert (part.rows, part.quarantined) == (2, 1)
    assert [row["_reason"] for row in rows_of(tmp_path, "quarantine-00000.parquet")] == ["not known"]


def test_when_all_rows_are_bad_there_is_no_data_file(tmp_path: Path) -> None:
    part = written(tmp_path, batch([{"id": None, "name": "x"}], SCHEMA), shape=PATIENT)

    assert part.files == ()
    assert [path.name for path in tmp_path.iterdir()] == ["quarantine-00000.parquet"]


@settings(max_examples=30, deadline=None)
@given(rows=batches(), is_quarantined=st.booleans())
def test_rows_of_every_type_are_read_as_they_were_written(rows: pa.RecordBatch, is_quarantined: bool) -> None:
    assume(len({name.casefold() for name in rows.schema.names}) == len(rows.schema.names))
    with TemporaryDirectory() as folder:
        writer = AttemptWriter(Path(folder), shape_of(rows.schema), STAMP, part=0, rows_a_group=2)
        reasons = pa.array(["odd", *[None] * (rows.num_rows - 1)]) if is_quarantined else None
        writer.write(rows, reasons)
        part = writer.finish()

        kept = rows[int(is_quarantined) :]
        read = pq.read_table(Path(folder) / part.files[0].name) if part.files else kept.schema.empty_table()
        assert repr(read.select(rows.schema.names).to_pylist()) == repr(kept.to_pylist())  # NaN is NaN


@pytest.mark.parametrize(
    ("schema", "key", "message"),
    [
        (pa.schema([("_seq", pa.int64())]), (), "column `_seq` has a name that the store keeps for itself"),
        (
            pa.schema([("id", pa.int64()), ("ID", pa.int64())]),
            (),
            "columns `id` and `ID` differ in case alone",
        ),
        (
            pa.schema([("s", pa.list_(pa.struct([("a", pa.int8()), ("A", pa.int8())])))]),
            (),
            "columns `s[].a` and `s[].A` differ in case alone",
        ),
        (SCHEMA, ("key",), "column `key` of the primary key is not in the table's schema"),
        (pa.schema([("x", pa.uint8())]), (), "column `x` is of type uint8, which the store does not keep"),
    ],
)
def test_a_table_that_cannot_be_kept_is_refused(
    schema: pa.Schema, key: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UnfitColumns) as caught:
        shape_of(schema, *key)

    assert str(caught.value) == message


def test_a_column_that_the_table_does_not_have_is_never_dropped_silently(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0)

    with pytest.raises(UnfitColumns, match=r"^column `age` is not in the table's schema$"):
        writer.write(pa.RecordBatch.from_pydict({"id": [1], "age": [7]}))


def test_what_is_abandoned_leaves_nothing(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, PATIENT, STAMP, part=0, rows_a_group=1)
    writer.write(batch([ADA, {"id": None, "name": "x"}], SCHEMA))
    assert len(list(tmp_path.iterdir())) == 2

    writer.abandon()
    writer.abandon()

    assert list(tmp_path.iterdir()) == []


def test_what_is_finished_cannot_be_abandoned(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0)
    writer.write(batch([ADA], SCHEMA))
    writer.finish()

    writer.abandon()

    assert own(rows_of(tmp_path)) == [ADA]


class FullDisk(LocalFiles):
    def create(self, path: Path) -> Outlet:
        outlet = super().create(path)

        class Full:
            def write(self, data: bytes) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

            def sync(self) -> None: ...

            def close(self) -> None:
                outlet.close()

        return Full()


def test_a_full_disk_is_told_as_such_and_leaves_nothing(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, BY_ID, STAMP, part=0, files=FullDisk())
    writer.write(batch([ADA], SCHEMA))

    with pytest.raises(OSError, match="No space left") as caught:
        writer.finish()
    writer.abandon()

    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_shapes_and_stamps_travel_to_tasks() -> None:
    assert pickle.loads(pickle.dumps((BY_ID, STAMP))) == (BY_ID, STAMP)
