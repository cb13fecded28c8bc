"""Whatever is damaged, missing, out of step or left over is found and named; a store that is whole is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.store.everything import EVENT, EVENTS, SECOND, make_everything
from tests.store.workshop import ORDERS, PIPELINE, T0, Workshop, open_workshop

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.catalog.contract.snapshots import DoomedFile
from hakiri.core.clock import SystemClock
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName
from hakiri.store.checking.checking import Checker
from hakiri.store.checking.findings import Checked, Kind, Severity
from hakiri.store.files import LocalFiles
from hakiri.store.views import FORM

ROOT = Path(__file__).resolve().parents[2]
CATALOG = ("meta.sqlite", "meta.sqlite-lock", "meta.sqlite-shm", "meta.sqlite-wal")
LONG_AGO = (T0 - timedelta(days=30)).timestamp()


class Unwatched:
    def step(self, words: str) -> None: ...
    def begin(self, total_bytes: int) -> None: ...
    def advance(self, done_bytes: int) -> None: ...


class Counting(Unwatched):
    """Adds up what it hears."""

    def __init__(self) -> None:
        self.total = self.done = 0

    def begin(self, total_bytes: int) -> None:
        self.total = total_bytes

    def advance(self, done_bytes: int) -> None:
        self.done += done_bytes


def checker(workshop: Workshop, patience_seconds: float = 0.1) -> Checker:
    return Checker(
        catalog=workshop.catalog,
        layout=workshop.layout,
        files=LocalFiles(),
        clock=SystemClock(),
        patience_seconds=patience_seconds,
    )


def checked(workshop: Workshop, *, only: Collection[TableName] = (), is_quick: bool = False) -> Checked:
    return checker(workshop).check(Unwatched(), only=only, is_quick=is_quick)


def found(result: Checked) -> list[tuple[Kind, str]]:
    return [finding.place for finding in result.findings]


def files_of(workshop: Workshop) -> list[Path]:
    """Every file of the store but the catalog and the lock."""
    return sorted(
        path
        for path in workshop.layout.root.rglob("*")
        if path.is_file() and path.name not in CATALOG and path != workshop.layout.publish_lock
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """A store with something of everything; whoever changes it puts it back."""
    with open_workshop(tmp_path_factory.mktemp("whole") / "shop") as workshop:
        make_everything(Bench(workshop))
        yield workshop


@pytest.fixture
def own(workshop: Workshop) -> Workshop:
    """Such a store that a test may do anything to."""
    make_everything(Bench(workshop))
    return workshop


def test_a_store_that_is_whole_has_no_finding(shared: Workshop) -> None:
    heard = Counting()

    result = checker(shared).check(heard)

    assert (result.findings, result.is_whole, result.tables) == ((), True, (EVENTS, ORDERS))
    assert result.bytes == heard.total == heard.done > 0


def test_one_changed_byte_is_found_in_whatever_file_it_is(shared: Workshop) -> None:
    missed = []
    for path in files_of(shared):
        before = path.read_bytes()
        # What DuckDB does not use of its file, nobody misses.
        at = before.index(b"read_parquet") if path == shared.layout.duck_db else len(before) // 2
        path.write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
        name = shared.layout.relative(path)
        result = checked(shared, only=[EVENTS if "/events" in name else ORDERS])
        path.write_bytes(before)
        if result.is_whole or name not in [finding.path for finding in result.findings]:
            missed.append(name)

    assert missed == []
    assert checked(shared).findings == ()


def test_every_file_that_is_gone_is_found_unless_a_collection_may_have_taken_it(own: Workshop) -> None:
    table = own.layout.data_folder(ORDERS)
    sidecar = max(own.layout.table_folder(ORDERS).glob("indexes/*/*/*.parquet"))
    sidecar.unlink()
    assert found(checked(own)) == [(Kind.SIDECAR_MISSING, own.layout.relative(sidecar))]
    every = {own.layout.relative(path): path for path in files_of(own)}
    old, _ = sorted(table.glob("snapshot=*"))
    folded = sorted(table.glob("runs/*/*/*/*/part-*.parquet"))[:3]
    of_old = [*old.iterdir(), *own.layout.index_folder(ORDERS, "checksum").glob(f"{old.name}/*")]
    collected = {own.layout.relative(path) for path in (*folded, *of_old)}
    for path in every.values():
        path.unlink()

    result = checked(own)

    assert every.keys() - {finding.path for finding in result.findings} == collected
    assert {finding.found for finding in result.findings} == {"it is not there"}


@pytest.mark.parametrize(
    ("role", "advice"),
    [
        ("folded", "nothing is lost: its rows are in a snapshot"),
        ("with a key", "put it back from a copy of the store; until then"),
        ("without a key", "hakiri backfill rewind shop --table events --from … --to … --reason damaged"),
        ("quarantine", "the rows that readers see are not hurt"),
        ("snapshot", "run `hakiri context compact --full orders`, and no `hakiri context gc` before"),
        ("old snapshot", "nothing is lost: a newer snapshot has taken its place"),
        ("index", "run `hakiri context compact --full orders`, which builds it anew"),
    ],
)
def test_a_damaged_file_comes_with_what_helps(shared: Workshop, role: str, advice: str) -> None:
    orders, events = shared.layout.table_folder(ORDERS), shared.layout.table_folder(EVENTS)
    runs = sorted(orders.glob("data/runs/*/*/*/*/part-*.parquet"))
    path = {
        "folded": runs[0],
        "with a key": runs[-1],
        "without a key": next(events.rglob("part-*.parquet")),
        "quarantine": next(orders.rglob("quarantine-*.parquet")),
        "snapshot": max(orders.glob("data/snapshot=*/*.parquet")),
        "old snapshot": min(orders.glob("data/snapshot=*/*.parquet")),
        "index": max(orders.glob("indexes/*/*/*.parquet")),
    }[role]
    before = path.read_bytes()
    path.write_bytes(before + b"!")

    result = checked(shared, is_quick=True)

    path.write_bytes(before)
    (finding,) = [one for one in result.findings if one.severity is Severity.DAMAGE]
    assert finding.path == shared.layout.relative(path)
    assert finding.found == f"it has {len(before) + 1:,} bytes, and {len(before):,} were written"
    assert advice in finding.advice


def test_a_quick_check_looks_at_sizes_only(own: Workshop) -> None:
    file = next(own.layout.table_folder(EVENTS).rglob("*.parquet"))
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"?")
    assert checked(own, is_quick=True).findings == ()

    file.write_bytes(data[:-1])

    assert found(checked(own, is_quick=True)) == [(Kind.FILE_CHANGED, own.layout.relative(file))]


def test_a_check_of_some_tables_leaves_the_others_alone(own: Workshop) -> None:
    file = next(own.layout.table_folder(EVENTS).rglob("*.parquet"))
    file.unlink()

    assert checked(own, only=[ORDERS]).findings == ()
    assert found(checked(own, only=[EVENTS])) == [(Kind.FILE_MISSING, own.layout.relative(file))]


@pytest.mark.parametrize("what", ["rows", "columns"])
def test_a_writer_that_says_what_is_not_in_its_file_is_caught(workshop: Workshop, what: str) -> None:
    workshop.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
    workshop.land([{"n": 1, "at": T0}], EVENT, table=EVENTS)
    workshop.catalog.chunks.plan(PIPELINE, "another", [NewChunk(table=EVENTS, predicate="{}")], T0)
    attempt = workshop.claim()
    if what == "rows":
        manifest = workshop.write(attempt, [{"n": 2, "at": T0}], EVENT)
        manifest = replace(manifest, files=(replace(manifest.files[0], rows=2),))
    else:
        manifest = replace(workshop.write(attempt, [{"n": 2}], EVENT.remove(1)), schema_version=1)
    (workshop.folder_of(attempt) / "_manifest.json").write_text(manifest.text())
    workshop.commit(attempt, manifest, None)

    result = checked(workshop, only=[EVENTS])

    (finding,) = [one for one in result.findings if one.kind is Kind.FOOTER_DIFFERS]
    assert (
        finding.found
        == {
            "rows": "its footer says 1 rows, its manifest 2",
            "columns": "its columns are not those of its schema: `at`",
        }[what]
    )


# What is derived --------------------------------------------------------------------------------------------


def test_all_that_can_be_derived_is_mended_and_no_row_is_touched(own: Workshop) -> None:
    layout = own.layout
    rows = {path: path.read_bytes() for path in layout.root.rglob("*.parquet")}
    layout.config_file.write_text("version = ")
    layout.duck_db.write_bytes(b"noise" * 100)
    layout.view_file(ORDERS).unlink()
    layout.view_file(EVENTS).write_text("SELECT 1")
    layout.schema_file(ORDERS).write_text("{}")
    layout.schema_history(EVENTS).unlink()
    manifests = sorted(path for path in layout.root.rglob("_manifest.json") if "indexes" not in path.parts)
    for path in manifests[1:]:
        path.write_text("{}")
    manifests[0].unlink()
    broken = checked(own)

    mended = checker(own).repair(broken)

    assert len(broken.findings) == 6 + len(manifests)
    assert mended.is_whole
    assert all(finding.is_mended for finding in mended.findings)
    assert checked(own).findings == ()
    assert {path: path.read_bytes() for path in layout.root.rglob("*.parquet")} == rows
    assert own.query("SELECT id FROM orders ORDER BY id") == [(1,), (2,), (2**40,)]


def test_what_cannot_be_mended_is_left_as_it_is_and_said(own: Workshop) -> None:
    damaged = next(own.layout.table_folder(EVENTS).rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    own.layout.view_file(ORDERS).write_text("SELECT 1")
    own.layout.view_file(EVENTS).write_text("SELECT 1")

    result = checker(own).repair(checked(own))

    assert not result.is_whole
    assert {finding.path for finding in result.findings if not finding.is_mended} == {
        own.layout.relative(damaged),
        "views/events.sql",  # DuckDB does not take a view of a file that is no Parquet file
    }
    assert damaged.stat().st_size == 100
    assert len(own.query("FROM orders")) == 3


@pytest.mark.spec("HC-017")
@pytest.mark.spec("HC-018")
def test_a_view_behind_the_schema_of_the_catalog_is_drift(own: Workshop) -> None:
    own.evolve(SECOND.append(pa.field("note", pa.string())), "id")

    result = checked(own, is_quick=True)

    assert not result.is_whole
    assert {*found(result)} == {
        (Kind.VIEW_BEHIND, "views/orders.sql"),
        (Kind.SCHEMA_DIFFERS, "tables/orders/schema.json"),
        (Kind.SCHEMA_DIFFERS, "tables/orders/schema-history.jsonl"),
    }
    (view,) = [one for one in result.findings if one.kind is Kind.VIEW_BEHIND]
    assert view.found == "it shows schema 2 and revision 5, the catalog has schema 3 and revision 5"
    own.publish(ORDERS)
    assert checked(own, is_quick=True).findings == ()


@pytest.mark.spec("HC-018")
@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ('SELECT "id", "name"', 'SELECT "name", "id"', Kind.VIEW_EDITED),
        ("sha256:", "sha256:0", Kind.VIEW_BEHIND),
        ("(rev 2)", "(rev 1)", Kind.VIEW_BEHIND),
        (f"form {FORM}", f"form {FORM - 1}", Kind.VIEW_BEHIND),
    ],
)
def test_a_view_that_says_something_else_than_the_catalog_is_drift(
    shared: Workshop, before: str, after: str, kind: Kind
) -> None:
    path = shared.layout.view_file(ORDERS)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))

    result = checked(shared, is_quick=True)

    path.write_text(text)
    assert found(result) == [(kind, "views/orders.sql")]


@pytest.mark.spec("HC-018")
def test_a_duckdb_file_with_other_views_than_the_texts_is_drift(own: Workshop) -> None:
    stale = own.layout.duck_db.read_bytes()
    own.land([{"n": 9, "at": T0}], EVENT, table=EVENTS)
    own.publish(EVENTS)
    own.layout.duck_db.write_bytes(stale)

    result = checked(own, is_quick=True)

    assert [finding.found for finding in result.findings] == ["its view of `events` is another one"]
    assert found(result) == [(Kind.DUCK_DIFFERS, "duck.db")]


@pytest.mark.spec("HC-018")
def test_views_of_a_store_that_was_moved_are_drift(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "old" / "shop") as workshop:
        workshop.land([{"n": 1, "at": T0}], EVENT, table=EVENTS)
        workshop.publish(EVENTS)
    (tmp_path / "old").rename(tmp_path / "new")

    with open_workshop(tmp_path / "new" / "shop") as moved:
        result = checked(moved)
        mended = checker(moved).repair(result)

        assert {*found(result)} == {(Kind.VIEW_ELSEWHERE, "views/events.sql"), (Kind.DUCK_DIFFERS, "duck.db")}
        assert f"in `{tmp_path}/old/shop`" in next(
            one.found for one in result.findings if one.kind is Kind.VIEW_ELSEWHERE
        )
        assert mended.is_whole
        assert moved.query("SELECT n FROM events") == [(1,)]


@pytest.mark.proof
def test_a_store_is_whole_while_others_write_to_it(workshop: Workshop) -> None:
    schema = pa.schema([("id", pa.int64())])
    workshop.land([{"id": 0}], schema)
    workshop.publish()
    command = [sys.executable, "-m", "tests.store.crowd", str(workshop.layout.root)]
    crowd = [subprocess.Popen([*command, str(first), "6"], cwd=ROOT) for first in (1, 2)]
    results = []
    while any(member.poll() is None for member in crowd):
        results.append(checker(workshop, patience_seconds=10).check(Unwatched()))

    assert [member.wait() for member in crowd] == [0, 0]
    assert results
    assert [finding for result in results for finding in result.findings] == []
    assert checked(workshop).findings == ()


# What is left over ------------------------------------------------------------------------------------------


def test_what_no_row_of_the_catalog_names_is_told_and_left_alone(own: Workshop) -> None:
    layout = own.layout
    winner = next(layout.table_folder(EVENTS).rglob("part-*.parquet"))
    left = {
        "tables/events/data/runs/stray/node-x/chunk-6/attempt-1/": Kind.ORPHAN,
        f"{layout.relative(winner.with_name('part-100000.parquet'))}": Kind.ORPHAN,
        "tables/orders/data/snapshot=2026-01-01T00-00-00Z-x-1.staging/": Kind.STAGING,
        "tables/orders/data/snapshot=2026-01-01T00-00-00Z-x-2/": Kind.UNKNOWN_SNAPSHOT,
        "tables/gone/": Kind.UNKNOWN_TABLE,
        "views/gone.sql": Kind.ORPHAN,
    }
    for place in left:
        path = layout.root / place / "part-00000.parquet" if place.endswith("/") else layout.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(winner, path)
        os.utime(path, (LONG_AGO, LONG_AGO))
    before = files_of(own)

    result = checked(own)

    assert result.is_whole
    assert {finding.path: finding.kind for finding in result.findings} == left
    assert {finding.bytes for finding in result.findings} == {winner.stat().st_size}
    assert all(finding.age is not None and finding.age > timedelta(days=30) for finding in result.findings)
    assert checker(own).repair(result).findings == result.findings
    assert files_of(own) == before


def test_a_snapshot_that_somebody_makes_now_is_no_litter(own: Workshop) -> None:
    staging = own.layout.staging_folder(ORDERS, "2026-01-01T00-00-00Z-x-1")
    staging.mkdir()
    (staging / "part-00000.parquet").write_bytes(b"half")

    assert checked(own).findings == ()


def test_an_attempt_that_may_still_win_is_no_litter_and_one_that_lost_is(own: Workshop) -> None:
    own.catalog.chunks.plan(PIPELINE, "another", [NewChunk(table=EVENTS, predicate="{}")], T0)
    first = own.claim()
    own.write(first, [{"n": 7, "at": T0}], EVENT)
    assert checked(own).findings == ()

    own.catalog.queue.give_back(first, T0)
    second = own.claim()
    own.commit(second, own.write(second, [{"n": 7, "at": T0}], EVENT), None)
    own.publish(EVENTS)

    lost = f"{own.layout.relative(own.folder_of(first))}/"
    result = checked(own)
    assert found(result) == [(Kind.ORPHAN, lost)]
    assert result.findings[0].found == "the catalog does not name it, 2 files"
    assert "`hakiri context gc` names what a crash left behind" in result.findings[0].advice

    doomed = DoomedFile(
        path=f"{lost}part-00000.parquet",
        table=EVENTS,
        reason="left behind",
        keep_until=T0 + timedelta(days=7),
    )
    own.catalog.garbage.doom([doomed], T0)
    assert checked(own).findings[0].advice == "`hakiri context gc` deletes it after 2026-05-18 08:00 UTC"


def test_a_catalog_that_breaks_a_promise_is_damage(own: Workshop) -> None:
    import sqlite3

    with sqlite3.connect(own.layout.root / "meta.sqlite") as database:
        names = [
            name
            for (name,) in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'schema_history'"
            )
        ]
        for name in names:
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("DELETE FROM schema_history WHERE table_name = 'orders' AND version = 1")

    result = checked(own)

    assert not result.is_whole
    assert any(finding.kind is Kind.CATALOG_BROKEN for finding in result.findings)
