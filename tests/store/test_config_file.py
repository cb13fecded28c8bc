"""`config.toml` says what a store is; one that this version does not know is left alone."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, T0, Workshop, open_workshop

from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.store.config_file import Compaction, StoreConfig, read_config
from hakiri.store.errors import StoreTooNew, UnreadableConfig
from hakiri.store.publishing import Publisher

DATED = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def landed(workshop: Workshop, number: int = 1) -> None:
    workshop.land([{"id": number, "name": "x"}], SCHEMA, "id")


@pytest.mark.spec("HC-010")
def test_a_new_store_says_its_version_and_where_it_comes_from(workshop: Workshop) -> None:
    landed(workshop)
    workshop.publish()

    said = tomllib.loads(workshop.layout.config_file.read_text())

    assert said == {"version": 1, "project": "store", "created_at": T0}


@pytest.mark.spec("HC-010")
def test_a_store_says_how_its_tables_were_compacted_last(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "shop") as workshop:
        bench = Bench(workshop)
        bench.land([{"id": 1, "at": T0}], DATED, "id")
        bench.compacted()
        bench.land([{"id": 2, "at": T0}], DATED, "id")
        snapshot = bench.compacted(
            TableLayout(cluster_by=("at", "id"), partitioning=ByValue("at", "month"))
        ).snapshot

        said = tomllib.loads(workshop.layout.config_file.read_text())

        assert said["tables"] == {
            "orders": {"snapshot": snapshot, "cluster_by": ["at", "id"], "partition_by": "month(at)"}
        }


@pytest.mark.spec("HC-010")
def test_a_store_of_a_newer_version_is_not_written(workshop: Workshop) -> None:
    landed(workshop)
    workshop.publish()
    config = workshop.layout.config_file
    newer = config.read_text().replace("version = 1", "version = 2") + "[what]\never = 1\n"
    config.write_text(newer)
    view = workshop.layout.view_file(ORDERS).read_bytes()
    landed(workshop, 2)

    with pytest.raises(StoreTooNew, match=r"the store has version 2, says `config\.toml`.* up to 1"):
        workshop.publish()
    with pytest.raises(StoreTooNew):
        Publisher(workshop.layout, workshop.catalog).publish_anew()

    assert (config.read_text(), workshop.layout.view_file(ORDERS).read_bytes()) == (newer, view)


@pytest.mark.spec("HC-010")
def test_a_store_that_is_older_than_the_file_gets_one_at_the_next_write(workshop: Workshop) -> None:
    landed(workshop)
    workshop.publish()
    before = workshop.layout.config_file.read_bytes()
    workshop.layout.config_file.unlink()
    assert read_config(workshop.layout) is None
    landed(workshop, 2)

    workshop.publish()

    assert workshop.layout.config_file.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no 'version'"),
        ("version = ", "Invalid value"),
        ("version = 0", "`version` is `0`"),
        ("version = true", "`version` is `True`"),
        ('version = "1"', "`version` is `1`"),
        ("version = 1", "it has no 'created_at'"),
        ("version = 1\nproject = 7\ncreated_at = 2026-05-11T08:00:00Z", "`project` is `7`"),
        ('version = 1\nproject = "x"\ncreated_at = 2026-05-11T08:00:00', "without a zone"),
        ('version = 1\nproject = "x"\ncreated_at = 2026-05-11T08:00:00Z\ntables = 1', "`tables` is `1`"),
    ],
)
def test_a_file_that_is_damaged_is_refused_with_what_is_wrong(
    workshop: Workshop, text: str, why: str
) -> None:
    workshop.layout.config_file.write_text(text)

    with pytest.raises(UnreadableConfig, match=r"`config\.toml` of the store cannot be read: ") as caught:
        read_config(workshop.layout)

    assert why in caught.value.why


def test_whatever_columns_are_called_the_file_is_toml() -> None:
    odd = ("a.b", 'quo"te', "back\\slash", "new\nline", "tab\t", "\x7f\x00", "ä→🙂", "it's", "# no comment")
    config = StoreConfig(
        project="it's",
        created_at=datetime(2026, 5, 11, 8, tzinfo=UTC),
        tables={"a.b": Compaction(snapshot="s", cluster_by=odd, partition_by=f"month({odd[1]})")},
    )

    said = tomllib.loads(config.text())

    assert said["tables"]["a.b"]["cluster_by"] == [*odd]
    assert StoreConfig.parse(config.text(), "config.toml") == config
