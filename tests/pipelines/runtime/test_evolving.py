"""What becomes of a table when its source changes its columns, over whole runs."""

from __future__ import annotations

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.events import SchemaChanged
from hakiri.pipelines.evolution import SchemaIncompatible
from hakiri.pipelines.needs import Need
from hakiri.pipelines.soundness import TableNameTaken

pytestmark = pytest.mark.spark
LATER = "2025-06-01T00:00:00+00:00"


def types_of(lab: Lab) -> dict[str, str]:
    return {name: kind for name, kind, *_ in lab.query("DESCRIBE counted_items")}


@pytest.mark.spec("HP-065")
@pytest.mark.spec("HP-066")
@pytest.mark.spec("HP-067")
@pytest.mark.spec("HP-074")
def test_columns_come_and_go_and_every_row_keeps_what_it_had(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()

    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int32"}')
    source.do(f"INSERT INTO items VALUES (10, '{LATER}', 'part-1', 'ten', 7)")
    lab.ran()

    assert [event.changes for event in lab.told(SchemaChanged)] == [("column `score` added as int32",)]
    assert lab.query("SELECT id, score FROM counted_items ORDER BY id") == [
        (1, None), (2, None), (3, None), (10, 7),
    ]  # fmt: skip

    source.fact("columns", "{}")
    source.do("INSERT INTO items VALUES (11, '2025-06-02T00:00:00+00:00', 'part-1', 'eleven', 8)")
    lab.ran()

    assert lab.query("SELECT id, score FROM counted_items WHERE id > 9 ORDER BY id") == [(10, 7), (11, None)]
    with lab.catalog() as catalog:
        log = catalog.schemas.log(TableName("counted_items"))
        assert [change.change_kind for change in log] == ["create", "add_column", "drop_column"]
        assert {change.decided_by for change in log} == {"auto"}


def test_a_table_that_differs_in_case_alone_from_one_of_the_store_is_refused_before_it_is_read(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()
    source.forget_reads()
    lab.write(manifest("monotonic", table='{ name = "items", as = "Counted_Items" }'))

    with pytest.raises(TableNameTaken):
        lab.ran()

    assert source.reads() == []
    assert [path.name for path in lab.layout.tables.iterdir()] == ["counted_items"]
    assert lab.query("SELECT count(*) FROM counted_items") == [(3,)]


@pytest.mark.spec("HP-065")
def test_a_column_that_comes_with_an_edit_is_there_and_noted_before_any_row_has_it(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()
    source.forget_reads()

    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int32"}')
    lab.write(manifest("monotonic", more="retries = 7\n"))
    edited = lab.applied()

    assert (edited.need, source.reads()) == (Need.CHANGED, [])
    assert [event.changes for event in lab.told(SchemaChanged)] == [("column `score` added as int32",)]
    assert lab.query("SELECT id, score FROM counted_items ORDER BY id") == [(1, None), (2, None), (3, None)]
    with lab.catalog() as catalog:
        log = catalog.schemas.log(TableName("counted_items"))
        assert [change.change_kind for change in log] == ["create", "add_column"]

    source.do(f"INSERT INTO items VALUES (10, '{LATER}', 'part-1', 'ten', 7)")
    lab.ran()

    assert len(lab.told(SchemaChanged)) == 1
    assert lab.query("SELECT score FROM counted_items WHERE id = 10") == [(7,)]


@pytest.mark.spec("HP-068")
def test_a_wider_type_leaves_old_files_as_they_are_and_reads_as_the_wide_one(
    lab: Lab, source: CountedSource
) -> None:
    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int32"}')
    source.do("INSERT INTO items VALUES (1, '2024-01-01T00:00:00+00:00', 'a', 'one', 1)")
    lab.write(manifest("monotonic"))
    lab.applied()
    before = {path: path.read_bytes() for path in lab.layout.root.rglob("part-*.parquet")}

    source.fact("columns", '{"score": "int64"}')
    source.do(f"INSERT INTO items VALUES (2, '{LATER}', 'a', 'two', {2**40})")
    lab.ran()

    assert types_of(lab)["score"] == "BIGINT"
    assert lab.query("SELECT score FROM counted_items ORDER BY id") == [(1,), (2**40,)]
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.spec("HP-044")
@pytest.mark.spec("HP-069")
@pytest.mark.spec("HP-048")
def test_a_narrower_type_is_refused_and_nothing_is_written(lab: Lab, source: CountedSource) -> None:
    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int64"}')
    source.do("INSERT INTO items VALUES (1, '2024-01-01T00:00:00+00:00', 'a', 'one', 1)")
    lab.write(manifest("monotonic"))
    lab.applied()
    files = sorted(lab.layout.root.rglob("*.parquet"))

    source.fact("columns", '{"score": "int32"}')
    source.do(f"INSERT INTO items VALUES (2, '{LATER}', 'a', 'two', 2)")
    refused = lab.run("p")

    assert isinstance(refused.error, SchemaIncompatible)
    assert "score" in str(refused.error)
    assert "hakiri schema accept --pipeline p" in refused.error.hint
    assert sorted(lab.layout.root.rglob("*.parquet")) == files
    with lab.catalog() as catalog:
        (latest,) = catalog.runs.latest(PipelineId("p"), limit=1)
        assert (latest.status, latest.error_kind) == (RunStatus.FAILED, "pipelines.schema_incompatible")

    # It waits for a decision: nothing is tried again by itself.
    source.forget_reads()
    waiting = lab.apply()[0]

    assert waiting.error is not None
    assert waiting.error.code == "pipelines.waits_for_decision"
    assert source.reads() == []


@pytest.mark.spec("HP-071")
def test_a_rename_that_is_declared_keeps_the_rows_under_the_new_name(lab: Lab, source: CountedSource) -> None:
    source.do("ALTER TABLE items ADD COLUMN score INTEGER; ALTER TABLE items ADD COLUMN points INTEGER")
    source.fact("columns", '{"score": "int64"}')
    source.do("INSERT INTO items VALUES (1, '2024-01-01T00:00:00+00:00', 'a', 'one', 1, NULL)")
    lab.write(manifest("monotonic"))
    lab.applied()

    source.fact("columns", '{"points": "int64"}')
    source.do(f"INSERT INTO items VALUES (2, '{LATER}', 'a', 'two', NULL, 2)")
    renamed = '{ name = "items", columns = { points = { renamed_from = "score" } } }'
    lab.write(manifest("monotonic", table=renamed))
    lab.ran()

    assert lab.query("SELECT points FROM counted_items ORDER BY id") == [(1,), (2,)]
    assert "score" not in types_of(lab)


@pytest.mark.spec("HP-072")
def test_a_rename_that_nobody_declares_is_a_column_that_goes_and_one_that_comes(
    lab: Lab, source: CountedSource
) -> None:
    source.do("ALTER TABLE items ADD COLUMN score INTEGER; ALTER TABLE items ADD COLUMN points INTEGER")
    source.fact("columns", '{"score": "int64"}')
    source.do("INSERT INTO items VALUES (1, '2024-01-01T00:00:00+00:00', 'a', 'one', 1, NULL)")
    lab.write(manifest("monotonic"))
    lab.applied()

    source.fact("columns", '{"points": "int64"}')
    source.do(f"INSERT INTO items VALUES (2, '{LATER}', 'a', 'two', NULL, 2)")
    lab.ran()

    assert lab.query("SELECT score, points FROM counted_items ORDER BY id") == [(1, None), (None, 2)]


@pytest.mark.spec("HP-073")
def test_another_primary_key_is_refused(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()

    lab.write(manifest("monotonic", table='{ name = "items", primary_key = ["id", "part"] }'))
    refused = lab.run("p")

    assert isinstance(refused.error, SchemaIncompatible)
    assert "hakiri schema migrate" in refused.error.hint


def test_frozen_tables_refuse_new_columns_and_discarding_ones_leave_them_out(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(2))
    lab.write(manifest("monotonic", table='{ name = "items", contract = "discard" }'))
    lab.applied()
    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int32"}')
    source.do(f"INSERT INTO items VALUES (10, '{LATER}', 'part-1', 'ten', 7)")

    lab.ran()

    assert lab.query("SELECT * FROM counted_items WHERE id = 10")[0][3:] == ("ten",)

    lab.write(manifest("monotonic", table='{ name = "items", contract = "freeze" }'))
    frozen = lab.run("p")

    assert isinstance(frozen.error, SchemaIncompatible)
