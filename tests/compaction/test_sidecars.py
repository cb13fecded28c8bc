"""Indexes beside snapshots: built in staging, durable before they are named, there and gone with them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS

from hakiri.catalog.errors import MissingSidecars
from hakiri.compaction.collecting import Collector
from hakiri.compaction.errors import ColumnNotIndexable
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.compaction.sidecars.contract import Built, Staged
from hakiri.compaction.steps import Step
from hakiri.compaction.tasks import Report, Task
from hakiri.core.ids import IndexId
from hakiri.store.files import Files, LocalFiles
from hakiri.store.sidecars import SidecarManifest

SCHEMA = pa.schema([("id", pa.int64()), ("author", pa.string())])
BLOOM = Blooms(index=IndexId("bloom-author"), columns=("author",))
LAYOUT = TableLayout(indexes=(BLOOM,))
BROKEN = IndexId("broken")


def people(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "author": f"a{number}"} for number in numbers]


def indexes(bench: Bench) -> Path:
    return bench.workshop.layout.table_folder(ORDERS) / "indexes"


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.spec("HC-038")
@pytest.mark.spec("HC-039")
def test_a_snapshot_names_every_sidecar_and_each_says_what_it_is_made_of(bench: Bench) -> None:
    bench.land(people(*range(1000)), SCHEMA, "id")

    manifest = bench.compacted(LAYOUT)

    assert manifest.indexes == ("checksum", "bloom-author")
    name = f"snapshot={manifest.snapshot}"
    assert below(indexes(bench)) == {
        f"checksum/{name}/checksums.parquet",
        f"checksum/{name}/_manifest.json",
        f"bloom-author/{name}/filters.parquet",
        f"bloom-author/{name}/_manifest.json",
    }
    catalog = bench.workshop.catalog
    assert [each.index for each in catalog.snapshots.sidecars(manifest.snapshot)] == sorted(manifest.indexes)
    for noted in catalog.snapshots.sidecars(manifest.snapshot):
        folder = indexes(bench) / noted.index / name
        text = (folder / "_manifest.json").read_text()
        said = SidecarManifest.parse(text)
        assert hashlib.sha256(text.encode()).hexdigest() == noted.manifest_hash
        assert (said.index, said.snapshot, said.table) == (noted.index, manifest.snapshot, ORDERS)
        for file in said.files:
            data = (folder / file.name).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (file.bytes, file.sha256)
    final = bench.workshop.layout.snapshot_folder(ORDERS, manifest.snapshot) / "_manifest.json"
    assert json.loads(final.read_text())["indexes"] == ["checksum", "bloom-author"]


def test_checksums_tell_the_bytes_of_every_row_group(bench: Bench) -> None:
    bench.land(people(*range(1000)), SCHEMA, "id")
    manifest = bench.compacted()

    (file,) = manifest.files
    folder = indexes(bench) / "checksum" / f"snapshot={manifest.snapshot}"
    facts = pq.read_table(folder / "checksums.parquet").to_pylist()

    data = (bench.workshop.layout.data_folder(ORDERS) / file.path).read_bytes()
    (fact,) = facts
    assert (fact["path"], fact["rows"]) == (file.path, 1000)
    assert zlib.crc32(data[fact["offset"] : fact["offset"] + fact["bytes"]]) == fact["crc32"]
    assert fact["offset"] == len(b"PAR1")


@pytest.mark.spec("HC-060")
def test_a_bloom_filter_excludes_row_groups_that_do_not_have_a_value(bench: Bench) -> None:
    bench.land([{"id": n, "author": f"a{n * 7919 % 1000}"} for n in range(1000)], SCHEMA, "id")
    manifest = bench.compacted(LAYOUT)
    (file,) = manifest.files
    path = bench.workshop.layout.data_folder(ORDERS) / file.path

    def excluded(value: str) -> bool:
        probe = "SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe(?, 'author', ?)"
        ((answer,),) = duckdb.execute(probe, [str(path), value]).fetchall()
        return bool(answer)

    # Between the smallest and the largest value, where statistics alone tell nothing.
    assert excluded("a5x")
    assert not excluded("a5")
    folder = indexes(bench) / "bloom-author" / f"snapshot={manifest.snapshot}"
    (fact,) = pq.read_table(folder / "filters.parquet").to_pylist()
    assert (fact["path"], fact["column"]) == (file.path, "author")


def test_a_bloom_filter_over_a_column_that_is_not_there_is_refused(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")

    with pytest.raises(ColumnNotIndexable, match="index `b` of table `orders` cannot be over column `nope`"):
        bench.compact(TableLayout(indexes=(Blooms(index=IndexId("b"), columns=("nope",)),)))


def test_an_index_that_is_inside_of_the_files_has_them_written_anew_when_it_is_new(bench: Bench) -> None:
    layout = TableLayout(partitioning=ByValue("author"))
    bench.land(people(1, 2, 3), SCHEMA, "id")
    bench.compacted(layout)
    bench.land(people(4), SCHEMA, "id")

    done = bench.compact(TableLayout(partitioning=ByValue("author"), indexes=(BLOOM,)))

    assert done is not None
    assert done.files_kept == 0


def test_files_that_stay_keep_their_checksums_without_being_read(bench: Bench) -> None:
    layout = TableLayout(partitioning=ByValue("author"), indexes=(BLOOM,))
    bench.land(people(1, 2, 3), SCHEMA, "id")
    first = bench.compacted(layout)
    bench.land(people(4), SCHEMA, "id")
    read: list[object] = []

    def run(tasks: Sequence[Task]) -> list[Report]:
        read.extend(file.place for task in tasks for file in getattr(task, "files", ()))
        return [task.work(f"{number}-0") for number, task in enumerate(tasks)]

    manifest = bench.compacted(layout, run_tasks=run)

    kept = {file.path for file in first.files}
    assert {*read} == {file.path for file in manifest.files} - kept
    for index, name in (("checksum", "checksums.parquet"), ("bloom-author", "filters.parquet")):
        facts = pq.read_table(indexes(bench) / index / f"snapshot={manifest.snapshot}" / name)
        assert facts.column("path").to_pylist() == sorted(file.path for file in manifest.files)


@pytest.mark.spec("HC-037")
@pytest.mark.spec("HC-038")
def test_until_it_is_committed_everything_is_in_staging(bench: Bench) -> None:
    bench.land(people(1, 2), SCHEMA, "id")
    data = bench.workshop.layout.data_folder(ORDERS)
    seen: dict[Step, tuple[set[str], bool]] = {}

    def reached(step: Step) -> None:
        if Step.STAGED in (step, *seen) and step not in (Step.COMMITTED, Step.PUBLISHED):
            (folder,) = data.glob("snapshot=*")
            said = json.loads((folder / "_manifest.json").read_text())
            names = {path.parent.name.rpartition(".")[2] for path in indexes(bench).rglob("_manifest.json")}
            seen[step] = (names, said["partial"] if folder.name.endswith(".staging") else False)

    bench.compacted(LAYOUT, reached=reached)

    assert seen[Step.STAGED] == (set(), True)
    assert seen[Step.SIDECARS_BUILT] == ({"staging"}, True)
    assert seen[Step.MANIFEST_FINAL] == ({"staging"}, False)
    assert "staging" not in seen[Step.SIDECARS_RENAMED][0]
    assert not list(indexes(bench).rglob("*.staging"))


def test_the_indexes_of_a_snapshot_that_was_replaced_go_with_it(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    kept = timedelta(days=1)
    first = bench.compacted(TableLayout(indexes=(BLOOM,), retain=kept))
    bench.land(people(2), SCHEMA, "id")
    second = bench.compacted(TableLayout(indexes=(BLOOM,), retain=kept))
    catalog, layout = bench.workshop.catalog, bench.workshop.layout
    collector = Collector(catalog=catalog, layout=layout, clock=bench.clock, files=LocalFiles())
    assert len(list(indexes(bench).glob("*/snapshot=*"))) == 4

    bench.clock.advance(kept)
    collector.collect(kept, tables=(ORDERS,))

    assert first.snapshot != second.snapshot
    left = {path.name for path in indexes(bench).glob("*/snapshot=*")}
    assert left == {f"snapshot={second.snapshot}"}


@dataclass(frozen=True, slots=True)
class Broken:
    """An index that cannot be built."""

    index: IndexId = BROKEN
    kind: str = "broken"
    builder: str = "none/1"
    is_inline: bool = False

    def tasks(self, staged: Staged, folder: Path) -> Sequence[Task]:
        return []

    def finish(self, staged: Staged, folder: Path, reports: Sequence[Report], files: Files) -> Built:
        (folder / "half.bin").write_bytes(b"half")
        raise OSError("no room")


@pytest.mark.spec("HC-044")
def test_an_index_that_cannot_be_built_leaves_no_snapshot_and_nothing_of_itself(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")

    with pytest.raises(OSError, match="no room"):
        bench.compact(TableLayout(indexes=(Broken(),)))

    assert bench.workshop.catalog.snapshots.current_id(ORDERS) is None
    assert not list(bench.workshop.layout.table_folder(ORDERS).rglob("snapshot=*"))
    assert bench.rows() == [(1, "a1")]


@pytest.mark.spec("HC-039")
def test_the_catalog_takes_no_snapshot_whose_sidecars_are_not_there(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    manifest = bench.compacted(LAYOUT)
    current = bench.workshop.catalog.snapshots.current(ORDERS)
    assert current is not None
    other = replace(
        current, snapshot=f"{manifest.snapshot}-2", based_on=bench.workshop.catalog.snapshots.revision(ORDERS)
    )

    with pytest.raises(MissingSidecars):
        bench.workshop.catalog.snapshots.commit(other, bench.clock.now())
