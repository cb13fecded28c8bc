"""No statement writes into the folder of the store, and none that only reads it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.store.query.guarding import is_inside, written_into


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("COPY", "COPY orders TO '{root}/tables/orders/data/x.parquet' (FORMAT parquet)"),
        ("COPY", "COPY (SELECT 'it''s TO you' FROM orders) TO '{root}/x.csv'"),
        ("COPY", "COPY orders TO /* here */ '{root}/a TO b.csv'"),
        ("COPY", 'COPY orders TO "{root}/x.csv"'),
        ("COPY", "COPY orders TO $p${root}/x.csv$p$"),
        ("COPY", "COPY orders to 'file://{root}/x.csv'"),
        ("COPY", "COPY orders TO '{root}/../store/x.csv'"),
        ("COPY", "COPY orders TO '{link}/x.csv'"),
        ("EXPLAIN", "EXPLAIN ANALYZE COPY orders TO '{root}/x.csv'"),
        ("PREPARE", "PREPARE p AS COPY orders TO '{root}/x.csv'"),
        ("EXECUTE", "EXECUTE p('{root}/x.csv')"),
        ("EXPORT", "EXPORT DATABASE '{root}/all'"),
        ("ATTACH", "ATTACH '{root}/mine.db'"),
        ("VARIABLE_SET", "SET VARIABLE target = '{root}/x.csv'"),
        ("SET", "SET temp_directory = '{root}'"),
    ],
)
def test_a_target_in_the_store_is_seen(tmp_path: Path, kind: str, sql: str) -> None:
    root, link = tmp_path / "store", tmp_path / "link"
    root.mkdir()
    link.symlink_to(root)

    assert written_into(root, kind=kind, sql=sql.format(root=root, link=link)) is not None


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("SELECT", "SELECT * FROM read_parquet('{root}/x.parquet')"),
        ("COPY", "COPY (SELECT * FROM read_parquet('{root}/x.parquet')) TO '{root}.csv'"),
        ("COPY", "COPY mine FROM '{root}/x.parquet'"),
        ("COPY", "COPY orders TO 'x.csv' -- not '{root}/x.csv'"),
        ("PREPARE", "PREPARE p AS SELECT * FROM read_parquet('{root}/x.parquet')"),
        ("ATTACH", "ATTACH ':memory:' AS mine"),
        ("SET", "SET TimeZone = 'Europe/Berlin'"),
    ],
)
def test_reading_the_store_and_writing_elsewhere_are_let_through(tmp_path: Path, kind: str, sql: str) -> None:
    root = tmp_path / "store"

    assert written_into(root, kind=kind, sql=sql.format(root=root)) is None


def test_a_text_that_is_no_path_is_no_target(tmp_path: Path) -> None:
    assert written_into(tmp_path, kind="SET", sql="SET x = 'a\0b'") is None
    assert not is_inside(tmp_path, Path("elsewhere"))
