"""No statement writes into the folder of the store, and none that only reads it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.store.query.errors import SqlRefused
from hakiri.store.query.guarding import is_inside, written_into


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("COPY", "COPY orders TO '{root}/tables/orders/data/x.parquet' (FORMAT parquet)"),
        ("COPY", "COPY (SELECT 'it''s TO you' FROM orders) TO '{root}/x.csv'"),
        ("COPY", "COPY orders TO /* here /* or there */ */ '{root}/a TO b.csv'"),
        ("COPY", 'COPY orders TO "{root}/x.csv"'),
        ("COPY", "COPY orders TO $p${root}/x.csv$p$"),
        ("COPY", "COPY orders TO E'{root}/x.csv'"),
        ("COPY", "COPY orders to 'file://{root}/x.csv'"),
        ("COPY", "COPY orders to 'file:{root}/x.csv'"),
        ("COPY", "COPY orders to 'file://localhost{root}/x.csv'"),
        ("COPY", "COPY orders TO '{root}/../store/x.csv'"),
        ("COPY", "COPY orders TO '/{root}/x.csv'"),
        ("COPY", "COPY orders TO '{link}/x.csv'"),
        ("COPY", "COPY orders TO '~/store/x.csv'"),
        ("COPY", "COPY orders TO '~/../{home}/store/x.csv'"),
        ("EXPLAIN", "EXPLAIN ANALYZE COPY orders TO '{root}/x.csv'"),
        ("PREPARE", "PREPARE p AS COPY orders TO '{root}/x.csv'"),
        ("MULTI", "COPY (PIVOT orders ON name) TO '{root}/x.csv'"),
        ("SELECT", "WITH x AS (COPY orders TO '{root}/x.csv') FROM x"),
        ("EXPORT", "EXPORT DATABASE '{root}/all'"),
        ("ATTACH", "ATTACH '{root}/mine.db'"),
        ("ATTACH", "ATTACH IF NOT EXISTS 'duckdb:{root}/mine.db' AS mine (READ_ONLY)"),
        ("SET", "SET temp_directory = '{root}'"),
        ("SET", "SET GLOBAL \"Temp_Directory\" TO '{root}'"),
        ("PRAGMA", "PRAGMA log_query_path = '{root}/queries.sql'"),
        ("CALL", "CALL enable_logging(storage = 'file', storage_path = '{root}/logs')"),
        ("SELECT", "FROM enable_logging(storage = 'file', storage_config = {{'path': '{root}/logs'}})"),
        ("CREATE", "CREATE TEMP TABLE t AS FROM \"enable_logging\"(storage_path = '{root}/logs')"),
    ],
)
def test_a_target_in_the_store_is_seen(home: Path, kind: str, sql: str) -> None:
    root, link = home / "store", home / "link"
    root.mkdir()
    link.symlink_to(root)

    told = sql.format(root=root, link=link, home=home.name)

    assert written_into(root, kind=kind, sql=told) is not None


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("COPY", "COPY orders TO (getvariable('target'))"),
        ("COPY", "COPY orders TO E'/elsewhere/\\x61.csv'"),
        ("COPY", "COPY orders TO '/elsewhere/'\n'a.csv'"),
        ("COPY", "COPY orders TO 'elsewhere' (PARTITION_BY a, FILENAME_PATTERN '../../store/x_{i}')"),
        ("COPY", "COPY orders TO 'elsewhere' (PARTITION_BY a, FILENAME_PATTERN \"../../store/x_{i}\")"),
        ("PREPARE", "PREPARE p AS COPY orders TO $1"),
        ("ATTACH", "ATTACH E'/elsewhere/\\x61.db' AS mine"),
        ("ATTACH", "ATTACH '/elsewhere/' || 'a.db' AS mine"),
        ("ATTACH", "ATTACH ('/elsewhere/' || 'a.db') AS mine"),
        ("ATTACH", "ATTACH getvariable('target') AS mine"),
        ("ATTACH", "ATTACH lower('/ELSEWHERE') AS mine"),
        ("EXPORT", "EXPORT DATABASE E'/elsewhere/\\x61'"),
        ("SET", "SET home_directory = '/elsewhere'"),
        ("SET", "PRAGMA home_directory = '/elsewhere'"),
        ("SET", "SET profiling_output = getvariable('target')"),
        ("CALL", "CALL enable_logging(storage = 'file', storage_path = '/elsewhere' || '/logs')"),
        ("PREPARE", "PREPARE p AS FROM enable_logging(storage_path = $1)"),
    ],
)
def test_what_writes_to_a_place_that_is_not_said_plainly_is_refused(
    tmp_path: Path, kind: str, sql: str
) -> None:
    with pytest.raises(SqlRefused):
        written_into(tmp_path / "store", kind=kind, sql=sql)


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("COPY", "COPY orders TO '{above}' (PARTITION_BY a, OVERWRITE)"),
        ("EXPORT", "EXPORT DATABASE '{above}'"),
    ],
)
def test_a_folder_that_the_store_lies_in_is_not_written_all_over(tmp_path: Path, kind: str, sql: str) -> None:
    with pytest.raises(SqlRefused, match="the store lies in"):
        written_into(tmp_path / "context" / "store", kind=kind, sql=sql.format(above=tmp_path))


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("SELECT", "SELECT * FROM read_parquet('{root}/x.parquet')"),
        ("SELECT", "SELECT copy, (copy) FROM mine WHERE \"to\" = '{root}'"),
        ("MULTI", "PIVOT (FROM read_parquet('{root}/x.parquet')) ON a"),
        ("COPY", "COPY (SELECT * FROM read_parquet('{root}/x.parquet')) TO '{root}.csv'"),
        ("COPY", "COPY orders TO 'x.csv' (DELIMITER E'\\t', NULLSTR '/')"),
        ("COPY", "COPY orders TO 'x' (PARTITION_BY a, FILENAME_PATTERN 'part_{{i}}')"),
        ("COPY", "COPY mine FROM '{root}/x.parquet'"),
        ("COPY", "COPY FROM DATABASE one TO two"),
        ("COPY", "COPY orders TO 'x.csv' -- not '{root}/x.csv'"),
        ("PREPARE", "PREPARE p AS SELECT * FROM read_parquet('{root}/x.parquet')"),
        ("EXECUTE", "EXECUTE p('{root}/x.parquet')"),
        ("ATTACH", "ATTACH ':memory:' AS mine"),
        ("ATTACH", "ATTACH OR REPLACE DATABASE 'elsewhere.db' AS mine (TYPE duckdb, READ_ONLY)"),
        ("ATTACH", "ATTACH elsewhere AS mine"),
        ("EXPORT", "EXPORT DATABASE 'elsewhere' (FORMAT csv, DELIMITER '|')"),
        ("SET", "SET VARIABLE source = '{root}/' || 'x.parquet'"),
        ("SET", "SET TimeZone = 'Europe/Berlin'"),
        ("SET", "SET temp_directory = 'elsewhere'"),
        ("CALL", "CALL enable_logging('QueryLog', storage = 'file', storage_path = 'elsewhere')"),
        ("CALL", "CALL pragma_version()"),
    ],
)
def test_reading_the_store_and_writing_elsewhere_are_let_through(tmp_path: Path, kind: str, sql: str) -> None:
    root = tmp_path / "store"

    assert written_into(root, kind=kind, sql=sql.format(root=root)) is None


def test_a_text_that_is_no_path_is_no_target(tmp_path: Path) -> None:
    assert written_into(tmp_path, kind="SET", sql="SET temp_directory = 'a\0b'") is None
    assert written_into(tmp_path, kind="COPY", sql="COPY orders TO 'a\0b'") is None
    assert not is_inside(tmp_path, Path("elsewhere"))
