"""What readers see follows the catalog, whoever publishes and wherever somebody dies."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.store.recording import Recording, RecordingOutlet
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0, Workshop, open_workshop

from hakiri.catalog.contract.chunks import Chunk, NewChunk
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, RunId, TableName
from hakiri.store.errors import StoreNotWritable, ViewNotMade
from hakiri.store.files import LocalFiles, Outlet
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import Publisher
from hakiri.store.reading import open_reader, visible_files
from hakiri.store.schemas import key_of, schema_from, schema_text

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
ITEMS = TableName("items")
ROOT = Path(__file__).resolve().parents[2]
BY_FILE = """
import duckdb, sys
print(duckdb.connect(sys.argv[1], read_only=True).sql("FROM orders").fetchall())
"""
BY_TEXT = """
import duckdb, sys
duckdb.sql(open(sys.argv[1]).read())
print(duckdb.sql("FROM orders").fetchall())
"""
DYING_WRITER = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.sql("CREATE TABLE mine AS SELECT 1")
os._exit(1)
"""


def landed(workshop: Workshop, *numbers: int, table: TableName = ORDERS) -> None:
    for number in numbers:
        workshop.land([{"id": number, "name": "x"}], SCHEMA, "id", table=table)


def ids(workshop: Workshop, table: TableName = ORDERS) -> list[int]:
    return [row[0] for row in workshop.query(f"SELECT id FROM {table} ORDER BY id")]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.spec("HC-005")
def test_the_schema_of_a_table_is_beside_its_data(workshop: Workshop) -> None:
    wider = SCHEMA.append(pa.field("age", pa.int8()))
    landed(workshop, 1)
    workshop.evolve(wider, "id")
    workshop.publish()

    layout = workshop.layout
    history = [json.loads(line) for line in layout.schema_history(ORDERS).read_text().splitlines()]
    schema = layout.schema_file(ORDERS).read_text()
    assert schema_from(schema) == wider
    assert key_of(schema) == ("id",)
    assert [(step["version"], step["change_kind"], step["decided_by"]) for step in history] == [
        (1, "add_column", "auto"),
        (2, "add_column", "auto"),
    ]
    assert [step["before"] for step in history] == [None, json.loads(schema_text(SCHEMA))]
    assert history[1]["after"] == json.loads(schema_text(wider))
    assert history[1]["at"] == "2026-05-11T08:00:00.123456Z"


def test_a_table_that_nobody_knows_has_no_view(workshop: Workshop) -> None:
    workshop.publish()

    assert not workshop.layout.views.exists()
    assert visible_files(workshop.layout, workshop.catalog, ORDERS) is None


@pytest.mark.spec("HC-016")
@pytest.mark.spec("HP-121")
def test_files_without_a_commit_are_not_seen(workshop: Workshop) -> None:
    landed(workshop, 1)
    workshop.publish()
    folder = workshop.layout.attempt_folder(table=ORDERS, run=RunId("stray"), node=NODE, chunk=99, number=1)
    (committed,) = workshop.layout.root.rglob("*.parquet")
    shutil.copytree(committed.parent, folder)
    shutil.copy(committed, committed.with_name("part-100000.parquet"))
    landed(workshop, 2)
    workshop.publish()

    assert ids(workshop) == [1, 2]


def test_nothing_is_written_when_nothing_changed(workshop: Workshop) -> None:
    landed(workshop, 1)
    workshop.publish()
    before = content(workshop.layout.root)
    disk = Recording(workshop.layout.root)

    for _ in range(2):
        Publisher(workshop.layout, workshop.catalog, disk).publish([ORDERS])

    assert disk.steps == []
    assert content(workshop.layout.root) == before


def test_only_what_changed_is_written(workshop: Workshop) -> None:
    landed(workshop, 1)
    landed(workshop, 1, table=ITEMS)
    publisher = workshop.publisher
    publisher.publish([ORDERS, ITEMS])
    before = workshop.layout.view_file(ITEMS).stat().st_mtime_ns
    disk = Recording(workshop.layout.root)

    landed(workshop, 2)
    Publisher(workshop.layout, workshop.catalog, disk).publish([ITEMS, ORDERS])

    assert workshop.layout.view_file(ITEMS).stat().st_mtime_ns == before
    assert [step for step in disk.steps if step.startswith("rename")] == [
        "rename .duck.db.pending duck.db",
        "rename views/.orders.sql.pending views/orders.sql",
    ]
    assert (ids(workshop), ids(workshop, ITEMS)) == ([1, 2], [1])


def test_one_publisher_keeps_up_with_chunks_that_are_planned_anew(workshop: Workshop) -> None:
    publisher = workshop.publisher
    first = workshop.land([{"id": 1, "name": "old"}], SCHEMA)
    publisher.publish([ORDERS])
    workshop.catalog.chunks.supersede(PIPELINE, [first], "again", T0)
    publisher.publish([ORDERS])
    assert workshop.query("FROM orders") == [(1, "old")]

    workshop.work([{"id": 1, "name": "new"}], SCHEMA)
    publisher.publish([ORDERS])

    assert workshop.query("FROM orders") == [(1, "new")]


@pytest.mark.spec("HP-142")
def test_chunks_in_the_place_of_others_are_seen_all_at_once(workshop: Workshop) -> None:
    publisher = workshop.publisher
    old = [workshop.land([{"id": number, "name": "old"}], SCHEMA) for number in (1, 2)]
    into = [NewChunk(table=ORDERS, predicate="{}")] * 3
    workshop.catalog.chunks.supersede(PIPELINE, old, "cut anew", T0, into=into)
    seen = []

    for number in (1, 2, 3):
        workshop.work([{"id": number, "name": "new"}], SCHEMA)
        publisher.publish([ORDERS])
        seen.append(workshop.query("FROM orders ORDER BY id"))

    assert seen == [
        [(1, "old"), (2, "old")],
        [(1, "old"), (2, "old")],
        [(1, "new"), (2, "new"), (3, "new")],
    ]


@pytest.mark.parametrize("damage", ["gone", "empty", "noise"])
def test_a_duckdb_file_that_is_damaged_is_made_anew_with_all_tables(workshop: Workshop, damage: str) -> None:
    landed(workshop, 1)
    landed(workshop, 7, table=ITEMS)
    workshop.publish(ORDERS, ITEMS)
    if damage == "gone":
        workshop.layout.duck_db.unlink()
    else:
        workshop.layout.duck_db.write_bytes(b"" if damage == "empty" else b"no database" * 1000)
    landed(workshop, 2)

    workshop.publish(ORDERS)

    assert (ids(workshop), ids(workshop, ITEMS)) == ([1, 2], [7])


def test_a_log_that_somebody_left_beside_the_file_does_no_harm(workshop: Workshop) -> None:
    landed(workshop, 1)
    workshop.publish()
    subprocess.run([sys.executable, "-c", DYING_WRITER, str(workshop.layout.duck_db)], check=False)
    assert workshop.layout.root.joinpath("duck.db.wal").exists()
    landed(workshop, 2)

    workshop.publish()

    assert ids(workshop) == [1, 2]
    assert not workshop.layout.root.joinpath("duck.db.wal").exists()


def test_a_store_that_was_moved_is_published_anew(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "old") as workshop:
        landed(workshop, 1)
        landed(workshop, 7, table=ITEMS)
        workshop.publish(ORDERS, ITEMS)
    (tmp_path / "old").rename(tmp_path / "new")

    with open_workshop(tmp_path / "new") as moved:
        moved.publish(ORDERS, ITEMS)

        assert (ids(moved), ids(moved, ITEMS)) == ([1], [7])


def test_a_store_whose_catalog_was_lost_is_published_anew(tmp_path: Path) -> None:
    with open_workshop(tmp_path) as workshop:
        landed(workshop, 1)
        workshop.publish()
    for file in tmp_path.rglob("meta.sqlite*"):
        file.unlink()

    with open_workshop(tmp_path) as anew:
        anew.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        step = SchemaStep(
            table=ORDERS, based_on=0, change_kind="create", after=schema_text(SCHEMA), primary_key=("id",)
        )
        anew.catalog.schemas.record(step, PIPELINE, T0 + timedelta(days=1))
        anew.plans = iter(range(1000, 2000))
        landed(anew, 2)
        anew.publish()

        assert ids(anew) == [2]


def test_stock_duckdb_reads_the_store_from_any_folder(workshop: Workshop, tmp_path: Path) -> None:
    landed(workshop, 1)
    workshop.publish()

    answers = [
        subprocess.run(
            [sys.executable, "-c", code, str(path)], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for code, path in (
            (BY_FILE, workshop.layout.duck_db),
            (BY_TEXT, workshop.layout.view_file(ORDERS)),
        )
    ]

    assert answers == ["[(1, 'x')]\n"] * 2


def test_a_view_whose_file_is_gone_is_refused_by_name(workshop: Workshop) -> None:
    landed(workshop, 1)
    (file,) = workshop.layout.root.rglob("*.parquet")
    file.unlink()

    with pytest.raises(
        ViewNotMade, match=r"the view of table `orders` cannot be made: .*part-00000\.parquet"
    ):
        workshop.publish()


def test_a_store_that_cannot_be_written_says_so(workshop: Workshop) -> None:
    class Unwritable(LocalFiles):
        def lock(self, path: Path) -> AbstractContextManager[None]:
            raise OSError(errno.EROFS, "Read-only file system", str(path))

    landed(workshop, 1)
    publisher = Publisher(workshop.layout, workshop.catalog, Unwritable())

    for write in (lambda: publisher.publish([ORDERS]), publisher.publish_anew):
        with pytest.raises(StoreNotWritable) as caught:
            write()

        assert f"{caught.value}\n{caught.value.hint}" == (
            f"the store in `{workshop.layout.root}` cannot be written: read-only file system\n"
            "run it where the store may be written, by a user who may; to ask it, reading is enough"
        )


class Died(Exception):
    """The process is gone."""


class Mortal(Recording):
    """A disk on which somebody dies before the step of a number; nothing of theirs happens after it."""

    def __init__(self, root: Path, dies_before: int) -> None:
        super().__init__(root)
        self._dies_before = dies_before

    def note(self, step: str, *paths: Path) -> None:
        if len(self.steps) >= self._dies_before:
            raise Died
        super().note(step, *paths)

    def create(self, path: Path) -> Outlet:
        self.note("open", path)
        return RecordingOutlet(self, path, super(Recording, self).create(path))


def test_whoever_dies_at_any_step_leaves_the_old_state_or_the_new(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "store") as workshop:
        landed(workshop, 1)
        landed(workshop, 7, table=ITEMS)
        workshop.publish(ORDERS, ITEMS)
        known, step = [1], 0
        while True:
            newer = [*known, known[-1] + 1]
            landed(workshop, newer[-1])
            workshop.evolve(SCHEMA.append(pa.field(f"x{step}", pa.int8())), "id")
            disk = Mortal(workshop.layout.root, step)
            try:
                Publisher(workshop.layout, workshop.catalog, disk).publish([ORDERS])
                break
            except Died:
                assert ids(workshop) in (known, newer)
                assert ids(workshop, ITEMS) == [7]
            workshop.publish()
            assert ids(workshop) == newer
            known, step = newer, step + 1

        assert ids(workshop) == newer
    assert step > 20


def test_two_publishers_never_leave_the_older_state(workshop: Workshop) -> None:
    """One of them is held up between reading the catalog and writing; the other is quick."""
    landed(workshop, 1)
    workshop.publish()
    landed(workshop, 2)

    class Slow(Recording):
        def lock(self, path: Path) -> Any:
            if not self.steps:
                self.note("held", path)
                landed(workshop, 3)
                workshop.publish()
            return super().lock(path)

    Publisher(workshop.layout, workshop.catalog, Slow(workshop.layout.root)).publish([ORDERS])

    assert ids(workshop) == [1, 2, 3]


@pytest.mark.proof
def test_processes_that_publish_at_once_leave_all_that_landed_and_readers_never_notice(
    workshop: Workshop,
) -> None:
    schema = pa.schema([("id", pa.int64())])
    workshop.land([{"id": 0}], schema)
    workshop.publish()
    command = [sys.executable, "-m", "tests.store.crowd", str(workshop.layout.root)]
    crowd = [subprocess.Popen([*command, str(first), "12"], cwd=ROOT) for first in (1, 2, 3)]
    counts = [1]
    while any(member.poll() is None for member in crowd):
        counts.append(workshop.query("SELECT count(*) FROM orders")[0][0])

    assert [member.wait() for member in crowd] == [0, 0, 0]
    assert counts == sorted(counts)
    assert len(ids(workshop)) == 1 + 3 * 12


def test_a_reader_stays_with_what_it_opened_and_can_change_nothing(workshop: Workshop) -> None:
    import duckdb

    landed(workshop, 1)
    workshop.publish()
    with open_reader(workshop.layout) as reader:
        landed(workshop, 2)
        workshop.publish()

        assert reader.execute("SELECT count(*) FROM orders").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error, match="read-only"):
            reader.execute("DROP VIEW orders")
        reader.execute("CREATE TEMP TABLE mine AS FROM orders")

    assert ids(workshop) == [1, 2]


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_a_reader_needs_no_duckdb_file(workshop: Workshop, how: str) -> None:
    landed(workshop, 1)
    workshop.publish()
    if how == "gone":
        workshop.layout.duck_db.unlink()
    else:
        workshop.layout.duck_db.write_bytes(b"no database" * 1000)

    assert ids(workshop) == [1]


def test_a_store_without_tables_can_be_opened(tmp_path: Path) -> None:
    with open_reader(StoreLayout(tmp_path)) as reader:
        assert reader.execute("SHOW TABLES").fetchall() == []


class Busy:
    """A catalog in which a chunk is planned anew and lands again whenever somebody looks at them."""

    def __init__(self, workshop: Workshop, known: list[ChunkId]) -> None:
        self._workshop, self._known = workshop, known

    @property
    def chunks(self) -> Busy:
        return self

    @property
    def schemas(self) -> Any:
        return self._workshop.catalog.schemas

    @property
    def snapshots(self) -> Any:
        return self._workshop.catalog.snapshots

    def version(self, table: TableName) -> int:
        return self._workshop.catalog.chunks.version(table)

    def landed(self, table: TableName, **asked: Any) -> tuple[Chunk, ...]:
        seen = self._workshop.catalog.chunks.landed(table, **asked)
        self._workshop.catalog.chunks.supersede(PIPELINE, self._known[-1:], "again", T0)
        self._known.append(self._workshop.work([{"id": 1, "name": "x"}], SCHEMA))
        return seen


def test_a_table_that_never_rests_is_read_as_it_was_at_one_moment(workshop: Workshop) -> None:
    known = [workshop.land([{"id": 1, "name": "x"}], SCHEMA)]

    seen = visible_files(workshop.layout, Busy(workshop, known), ORDERS)  # type: ignore[arg-type]

    assert seen is not None
    assert len(known) == 4
    assert [file.parent.parent.name for file in seen.files[1]] == [f"chunk-{known[-2]}"]


def test_whoever_reads_files_alone_is_told_them_by_their_schema(workshop: Workshop) -> None:
    wider = SCHEMA.append(pa.field("age", pa.int8()))
    landed(workshop, 1)
    workshop.land([{"id": 2}], wider, "id")

    seen = visible_files(workshop.layout, workshop.catalog, ORDERS)

    assert seen is not None
    assert seen.primary_key == ("id",)
    assert seen.schemas == {1: SCHEMA, 2: wider}
    files = {file for paths in seen.files.values() for file in paths}
    assert files == set(workshop.layout.root.rglob("part-*.parquet"))
    assert [len(seen.files[version]) for version in (1, 2)] == [1, 1]
