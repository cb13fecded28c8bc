"""What happens to rows on their way: keys, deletes, bad rows, expectations, late ones, and their counts."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.core.ids import TableName
from hakiri.pipelines.expectations import ExpectationFailed
from hakiri.store.errors import BadRow
from hakiri.store.hashing import content_hash

pytestmark = pytest.mark.spark
LATER = "2025-06-01T00:00:00+00:00"
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


@pytest.mark.spec("HP-147")
def test_with_a_key_the_newest_row_wins(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()

    source.put([(2, LATER, "part-2", "newer")])
    lab.ran()

    assert lab.query(STORED) == source.rows()


@pytest.mark.spec("HP-148")
def test_without_a_key_rows_are_added(lab: Lab, source: CountedSource) -> None:
    source.put(moments(2))
    lab.write(manifest("monotonic", config=", has_key = false"))
    lab.applied()

    source.put([(2, LATER, "part-2", "again")])
    lab.ran()

    assert lab.query("SELECT id, v FROM counted_items ORDER BY id, v") == [
        (1, "value 1"), (2, "again"), (2, "value 2"),
    ]  # fmt: skip


@pytest.mark.spec("HP-118")
@pytest.mark.spec("HP-146")
@pytest.mark.spec("HP-149")
def test_files_are_numbered_and_every_row_carries_its_hash(lab: Lab, source: CountedSource) -> None:
    source.put(moments(5))
    lab.write(manifest("monotonic"))
    applied = lab.applied()

    (file,) = lab.layout.root.rglob("part-*.parquet")
    assert applied.result is not None
    run = applied.result.run.run
    assert file.relative_to(lab.layout.root).as_posix() == (
        f"tables/counted_items/data/runs/{run}/node-1/chunk-1/attempt-1/part-00000.parquet"
    )
    for row in pq.read_table(file).to_pylist():
        own = {name: row[name] for name in ("id", "at", "part", "v")}
        assert row["_content_hash"] == content_hash(own)
        assert (row["_run_id"], row["_pipeline_id"], row["_op"]) == (run, "p", "upsert")
    manifest_file = json.loads((file.parent / "_manifest.json").read_text())
    assert manifest_file["counts"] == {"filtered": 0, "quarantined": 0, "read": 5, "written": 5}


def test_deletes_that_the_source_tells_hide_the_row(lab: Lab, source: CountedSource) -> None:
    source.put(moments(4))
    lab.write(manifest("snapshot-id"))
    lab.applied()

    source.do("DELETE FROM items WHERE id = 2")
    lab.ran()

    assert lab.query(STORED) == source.rows()


def test_deletes_are_found_by_what_is_missing(lab: Lab, source: CountedSource) -> None:
    source.put(moments(6))
    lab.write(
        '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
        'tables = [{ name = "items", deletes = "missing" }]\n'
    )
    lab.applied()
    assert lab.query("SELECT count(*) FROM items") == [(6,)]

    source.do("DELETE FROM items WHERE id IN (2, 5)")
    lab.ran()

    assert lab.query("SELECT id FROM items ORDER BY id") == [(1,), (3,), (4,), (6,)]

    unchanged = lab.ran()

    assert unchanged.result is not None
    assert unchanged.result.run.rows == 0


def test_a_row_that_was_set_aside_is_not_missing(lab: Lab, source: CountedSource) -> None:
    source.put(moments(6))
    lab.write(
        '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
        'tables = [{ name = "items", deletes = "missing", expect = [\n'
        '  { predicate = "v <> \'bad\'", on_fail = "quarantine" },\n'
        "] }]\n"
    )
    lab.applied()

    source.do("UPDATE items SET v = 'bad' WHERE id = 3; DELETE FROM items WHERE id = 5")
    lab.ran()

    assert lab.query("SELECT id, v FROM items WHERE id IN (3, 5)") == [(3, "value 3")]
    assert lab.query("SELECT count(*) FROM items__quarantine") == [(1,)]


def test_what_is_missing_behind_a_lag_is_looked_for_only_where_rows_were_read_again(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(6))  # one a day: the cursor is at the sixth, and two days before it is the fourth
    lab.write(
        '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
        'tables = [{ name = "items", deletes = "missing", lag = "2d" }]\nincremental = "at"\n'
    )
    lab.applied()

    source.do("DELETE FROM items WHERE id IN (1, 5)")
    lab.ran()

    assert lab.query("SELECT id FROM items ORDER BY id") == [(1,), (2,), (3,), (4,), (6,)]


def test_rows_that_another_pipeline_brings_to_the_table_are_not_missing(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(6))
    source.do(
        "CREATE TABLE others (id INTEGER PRIMARY KEY, at TEXT, part TEXT, v TEXT);"
        "INSERT INTO others SELECT id + 100, at, part, v FROM items"
    )
    lab.write(
        "".join(
            f'[[pipeline]]\nid = "{name}"\n'
            'source = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
            f'tables = [{{ name = "{table}", as = "all_items", deletes = "missing" }}]\n'
            for name, table in (("p", "items"), ("q", "others"))
        )
    )
    lab.apply()

    source.do("DELETE FROM items WHERE id = 2")
    lab.ran("p")

    assert lab.query("SELECT id FROM all_items WHERE id < 100 ORDER BY id") == [(1,), (3,), (4,), (5,), (6,)]
    assert lab.query("SELECT count(*) FROM all_items WHERE id > 100") == [(6,)]


def test_rows_of_other_partitions_are_not_missing(lab: Lab, source: CountedSource) -> None:
    source.put(moments(9))
    lab.write(manifest("partitioned-monotonic", table='{ name = "items", lag = "5d", deletes = "missing" }'))
    lab.applied()

    source.do("DELETE FROM items WHERE id = 8")
    lab.ran()

    assert lab.query(STORED) == source.rows()


@pytest.mark.spec("HP-038")
def test_a_table_without_a_cursor_that_did_not_change_adds_nothing(lab: Lab, source: CountedSource) -> None:
    source.put(moments(6))
    lab.write(
        '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
        'tables = ["items"]\n'
    )
    lab.applied()
    files = sorted(lab.layout.root.rglob("*.parquet"))

    again = lab.ran()

    assert again.result is not None
    assert again.result.run.rows == 0
    assert sorted(lab.layout.root.rglob("*.parquet")) == files
    assert lab.query("SELECT count(*) FROM items") == [(6,)]


def test_what_a_later_start_left_out_is_pulled_when_it_moves_back(lab: Lab, source: CountedSource) -> None:
    def manifest_from(start: str) -> str:
        return manifest("monotonic", more=f'[pipeline.backfill]\nwindow = "3d"\nstart_from = "{start}"\n')

    source.put(moments(20))
    lab.write(manifest_from("2024-01-15")).applied()
    assert lab.query("SELECT min(id) FROM counted_items") == [(14,)]
    source.forget_reads()

    lab.write(manifest_from("2024-01-08")).applied()
    lab.applied()

    assert lab.query("SELECT count(*), min(id) FROM counted_items") == [(14, 7)]
    assert all(read["window"][1] is not None for read in source.reads())

    lab.write(manifest("monotonic")).applied()

    assert lab.query(STORED) == source.rows()


@pytest.mark.parametrize("before", ['incremental = "at"\n', ""], ids=["column", "whole"])
def test_without_a_key_a_table_is_not_read_anew_by_another_column(
    lab: Lab, source: CountedSource, before: str
) -> None:
    def read(how: str) -> Lab:
        return lab.write(
            '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
            f'tables = ["visits"]\n{how}'
        )

    source.put(moments(6))
    source.do("CREATE TABLE visits AS SELECT id, at FROM items")
    read(before).applied()

    refused = read('incremental = "id"\n').run("p")

    assert refused.error is not None
    assert (refused.error.code, refused.error.exit_code) == ("pipelines.other_cursor", 2)
    assert lab.query("SELECT count(*) FROM visits") == [(6,)]


def test_late_rows_are_read_within_the_lag(lab: Lab, source: CountedSource) -> None:
    source.put(moments(5))
    lab.write(manifest("monotonic", table='{ name = "items", lag = "2d" }'))
    lab.applied()

    # It was written a day before the newest row, and shows only now.
    source.put([(99, "2024-01-05T12:00:00+00:00", "part-0", "late")])
    lab.ran()

    assert lab.query(STORED) == source.rows()


def test_a_row_without_its_key_ends_the_run_or_goes_to_quarantine(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3))
    source.do("UPDATE items SET v = NULL WHERE id = 2")
    lab.write(manifest("monotonic", table='{ name = "items", primary_key = ["v"] }'))

    failed = lab.run("p")

    assert isinstance(failed.error, BadRow)
    assert "`v`" in str(failed.error)
    assert list(lab.layout.views.glob("counted_items.sql")) == []

    lab.write(
        manifest("monotonic", table='{ name = "items", primary_key = ["v"], on_bad_row = "quarantine" }')
    )
    applied = lab.applied()

    assert applied.result is not None
    assert (applied.result.run.rows, applied.result.quarantined) == (2, 1)
    assert lab.query("SELECT count(*) FROM counted_items") == [(2,)]
    ((reason, row),) = lab.query("SELECT _reason, _row FROM counted_items__quarantine")
    assert "v" in reason
    assert json.loads(row)["id"] == 2


EXPECT = (
    '{{ name = "items", expect = [{{ column = "part", in = ["part-0", "part-1"], on_fail = "{on_fail}" }}] }}'
)


def test_expectations_fail_warn_or_set_rows_aside(lab: Lab, source: CountedSource) -> None:
    source.put(moments(6))
    lab.write(manifest("monotonic", table=EXPECT.format(on_fail="fail")))

    failed = lab.run("p")

    assert isinstance(failed.error, ExpectationFailed)

    lab.write(manifest("monotonic", table=EXPECT.format(on_fail="quarantine")))
    lab.applied()

    assert lab.query("SELECT id FROM counted_items ORDER BY id") == [(1,), (3,), (4,), (6,)]
    assert lab.query("SELECT count(*) FROM counted_items__quarantine") == [(2,)]


def test_values_that_should_be_unique_are_set_aside_when_they_repeat(lab: Lab, source: CountedSource) -> None:
    source.put(moments(4))
    source.do("UPDATE items SET v = 'same' WHERE id IN (2, 4)")
    unique = '{ name = "items", expect = [{ column = "v", unique = true, on_fail = "quarantine" }] }'
    lab.write(manifest("monotonic", table=unique))

    applied = lab.applied()

    assert lab.query("SELECT id FROM counted_items ORDER BY id") == [(1,), (2,), (3,)]
    assert lab.query("SELECT _row->>'id' FROM counted_items__quarantine") == [("4",)]
    assert applied.result is not None
    assert (applied.result.run.rows, applied.result.quarantined) == (3, 1)


def test_redacted_columns_have_no_content_in_any_file(lab: Lab, source: CountedSource) -> None:
    source.put([(1, "2024-01-01T00:00:00+00:00", "a", "a secret of somebody")])
    lab.write(manifest("monotonic", table='{ name = "items", columns = { v = { redact = true } } }'))

    lab.applied()

    assert lab.query("SELECT id, v FROM counted_items") == [(1, None)]
    for path in lab.layout.root.rglob("*"):
        if path.is_file():
            assert b"a secret of somebody" not in path.read_bytes()


@pytest.mark.spec("HP-136")
def test_no_more_files_a_second_than_allowed(lab: Lab, source: CountedSource) -> None:
    source.put(moments(6))
    lab.write(
        manifest(
            "monotonic",
            config=', window = "2d"',
            more="[pipeline.backfill]\ndestination_writes_per_sec = 2\nparallelism = 1\n",
        )
    )
    lab.applied()

    times = sorted(path.stat().st_mtime for path in lab.layout.root.rglob("part-*.parquet"))
    assert len(times) >= 3
    assert times[-1] - times[0] >= 0.4 * (len(times) - 1)


def test_the_catalog_and_the_manifests_agree_about_every_row(lab: Lab, source: CountedSource) -> None:
    source.put(moments(30))
    lab.write(manifest("monotonic", config=', window = "7d"'))
    lab.applied()

    with lab.catalog() as catalog:
        landed = catalog.chunks.landed(TableName("counted_items"))
        assert sum(chunk.rows or 0 for chunk in landed) == 30
        assert catalog.check() == ()
