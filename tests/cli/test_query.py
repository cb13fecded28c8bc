"""`hakiri query`: what a person and a program get for a question, and what they are told when it is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.store.workshop import T0, Workshop, open_workshop

from hakiri.core.ids import TableName

if TYPE_CHECKING:
    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
HAKIRI = Path(sys.executable).parent / "hakiri"
ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("customer", pa.string()),
        ("total", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
EVENTS = pa.schema([("n", pa.int64()), ("what", pa.string())])
EVENT_TABLE = TableName("events")


def order(number: int, customer: str | None, total: str | None, day: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": customer,
        "total": None if total is None else Decimal(total),
        "at": datetime(2026, 5, day, 8, 0, 0, 250_000, tzinfo=UTC),
    }


@pytest.fixture
def workshop(run: Run, tmp_path: Path) -> Iterator[Workshop]:
    """A project whose store has nothing yet."""
    run("init", "--name", "shop")
    with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as made:
        yield made


@pytest.fixture
def shop(workshop: Workshop) -> Workshop:
    """Two tables: orders with a key, of which one came twice, and a hundred events without."""
    workshop.land([order(1, "Ada", "9.50", 1), order(2, None, "100.00", 2)], ORDERS, "id")
    workshop.land([order(1, "Ada", "10.00", 3), order(3, "", None, 3)], ORDERS, "id")
    workshop.land([{"n": n, "what": f"event {n}"} for n in range(100)], EVENTS, table=EVENT_TABLE)
    workshop.publish(TableName("orders"), EVENT_TABLE)
    return workshop


def environment(**extra: str) -> dict[str, str]:
    hidden = {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}
    kept = {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("HAKIRI_")}
    return {**kept, "TERM": "xterm-256color", **extra}


def validated(outcome: Outcome) -> dict[str, Any]:
    schema = json.loads((DOCS / "schemas" / "query.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data.keys() == schema["properties"].keys()
    report: dict[str, Any] = outcome.data
    return report


# Tables -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HC-019")
def test_a_question_is_answered_with_a_table(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELECT * FROM orders ORDER BY id")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "id  customer   total  at\n"
        " 1  Ada        10.00  2026-05-03 08:00:00.25+00\n"
        " 2  ∅         100.00  2026-05-02 08:00:00.25+00\n"
        " 3                 ∅  2026-05-03 08:00:00.25+00\n"
    )


def test_all_rows_are_there_where_nobody_looks_at_a_screen(run: Run, shop: Workshop) -> None:
    outcome = run("query", "FROM events ORDER BY n")

    assert outcome.out.count("\n") == 101
    assert outcome.err == ""


def test_of_several_statements_the_last_result_is_shown(run: Run, shop: Workshop) -> None:
    outcome = run(
        "query",
        "CREATE TEMP TABLE t AS SELECT 1 AS a; SELECT 2 AS b; FROM t; INSERT INTO t VALUES (3); DROP TABLE t",
    )

    assert (outcome.code, outcome.out, outcome.err) == (0, "a\n1\n", "")


def test_a_statement_without_a_result_says_that_it_is_done(run: Run, shop: Workshop, tmp_path: Path) -> None:
    assert run("query", "SET threads = 2").err == "done\n"
    assert run("query", "COPY orders TO 'out.csv'").err == "done: 3 rows\n"
    assert (tmp_path / "out.csv").read_text().startswith("id,customer,total,at\n")


def test_an_answer_without_rows_has_its_columns(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELECT id, customer FROM orders WHERE id > 9")

    assert outcome.out == "id  customer\n"


@pytest.mark.spec("HC-023")
@pytest.mark.parametrize(
    "sql",
    [
        "FROM events SELECT sum(n)",
        "SELECT sum(n) FROM events QUALIFY row_number() OVER () = 1",
        "WITH t AS (FROM events) SELECT sum(COLUMNS('^n$')) FROM t -- a last word",
        "SELECT list_sum([x.n FOR x IN list(events)]) FROM events",
        "SELECT sum(n) FROM events POSITIONAL JOIN (SELECT 1 AS one)",
        "SELECT 4950::HUGEINT;",
    ],
)
def test_the_sql_of_duckdb_passes_unchanged(run: Run, shop: Workshop, sql: str) -> None:
    outcome = run("query", sql)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[1].strip() == "4950"


@pytest.mark.parametrize(
    "sql", ["DESCRIBE events", "SHOW TABLES", "SUMMARIZE events", "PRAGMA version", "EXPLAIN FROM events"]
)
def test_statements_about_tables_are_answered_too(run: Run, shop: Workshop, sql: str) -> None:
    outcome = run("query", sql)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out


def test_every_type_reads_as_duckdb_writes_it(run: Run, shop: Workshop) -> None:
    outcome = run(
        "query",
        "SELECT INTERVAL 14 MONTH AS i, 'infinity'::DATE AS d,"
        " TIMESTAMP_NS '2026-01-01 00:00:00.123456789' AS ns,"
        " {'a': [1, NULL]} AS s, 0.1::FLOAT AS f, '\\xDE'::BLOB AS b, true AS t,"
        " 0::DECIMAL(38, 18) AS zero, 0.0000001::DECIMAL(38, 18) AS small",
    )

    assert outcome.out.splitlines()[1].split("  ") == [
        "1 year 2 months",
        "infinity",
        "2026-01-01 00:00:00.123456789",
        "{'a': [1, NULL]}",
        "0.1",
        "\\xDE",
        "true",
        "0.000000000000000000",
        "0.000000100000000000",
    ]


# Other ways in ----------------------------------------------------------------------------------------------


def test_statements_come_from_a_file(run: Run, shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "count.sql").write_text("-- how many\nSELECT count(*) AS c\nFROM orders;\n")

    assert run("query", "-f", "count.sql").out == "c\n3\n"


def test_statements_come_from_stdin(shop: Workshop, tmp_path: Path) -> None:
    for args in (["-"], []):
        done = subprocess.run(
            [HAKIRI, "query", *args],
            input="SELECT 7 AS a",
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )

        assert (done.stdout, done.stderr) == ("a\n7\n", "")


@pytest.mark.parametrize("way", ["argument", "file", "stdin"])
def test_statements_that_are_no_utf_8_are_refused_with_their_line(
    shop: Workshop, tmp_path: Path, way: str
) -> None:
    sql = b"SELECT 1 AS a,\n  '\xff' AS b"
    (tmp_path / "bytes.sql").write_bytes(sql)
    args: dict[str, list[str | bytes]] = {"argument": [sql], "file": ["-f", "bytes.sql"], "stdin": ["-"]}

    done = subprocess.run(
        [HAKIRI, "query", *args[way]], input=sql, cwd=tmp_path, capture_output=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr == (
        b"error[store.sql_refused]: line 2 has bytes that are no UTF-8\nhint: write the statements in UTF-8\n"
    )


def test_nothing_to_ask_is_told(run: Run, shop: Workshop) -> None:
    outcome = run("query", " -- nothing\n;")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[usage]: there is no statement to run\nhint: write one")


def test_forms_exclude_each_other(run: Run, shop: Workshop) -> None:
    outcome = run("query", "FROM orders", "--json", "--csv")

    assert outcome.code == 2
    assert outcome.err.startswith("error[usage]: `--json` and `--csv` exclude each other")


def test_another_folder_is_where_its_paths_start(run: Run, shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    run("init", "inner", "--name", "other")

    outcome = run("-C", "inner", "query", "COPY (SELECT 1 AS a) TO 'a.csv'")

    assert outcome.code == 0
    assert (tmp_path / "inner" / "a.csv").read_text() == "a\n1\n"


def test_a_pipeline_that_somebody_edits_keeps_nobody_from_asking(
    run: Run, shop: Workshop, tmp_path: Path
) -> None:
    (tmp_path / "pipelines").mkdir(exist_ok=True)
    (tmp_path / "pipelines" / "half.toml").write_text("[source\n")

    assert run("query", "SELECT count(*) AS c FROM orders").out == "c\n3\n"


def test_without_a_project_there_is_nothing_to_ask(run: Run) -> None:
    outcome = run("query", "SELECT 1")

    assert outcome.code == 2
    assert outcome.err.startswith("error[manifest.no_project]")


def test_a_wrong_setting_is_told_where_it_stands(run: Run, shop: Workshop, tmp_path: Path) -> None:
    with (tmp_path / "hakiri.toml").open("a") as manifest:
        manifest.write("\n[runtime]\nlease = 'long'\n")

    outcome = run("query", "SELECT 1")

    assert outcome.code == 2
    assert "--> hakiri.toml:" in outcome.err


# JSON, CSV, Parquet -----------------------------------------------------------------------------------------


def test_json_has_exact_values(run: Run, shop: Workshop) -> None:
    outcome = run(
        "query",
        "--json",
        "SELECT 9223372036854775807 AS big, 170141183460469231731687303715884105727::HUGEINT AS huge,"
        " 0.10::DECIMAL(18, 2) AS money, TIMESTAMPTZ '2026-05-11 10:00:00.25+02' AS moment,"
        " TIMESTAMP '2026-05-11 10:00:00' AS local, DATE '2026-05-11' AS day, INTERVAL 14 MONTH AS months,"
        " 'NaN'::DOUBLE AS nan, '\\xDE\\xAD'::BLOB AS bytes, NULL AS nothing, 'a' AS a, 'b' AS a,"
        " [{'at': TIMESTAMPTZ '2026-05-11 10:00:00+02', 'd': 1.50::DECIMAL(4, 2)}] AS list, true AS yes,"
        " 0::DECIMAL(38, 18) AS zero, MAP {false: [DATE 'infinity']} AS map",
    )

    report = validated(outcome)
    assert (report["row_count"], report["changed"]) == (1, None)
    assert report["rows"] == [
        {
            "big": 9223372036854775807,
            "huge": 170141183460469231731687303715884105727,
            "money": "0.10",
            "moment": "2026-05-11T08:00:00.25Z",
            "local": "2026-05-11T10:00:00",
            "day": "2026-05-11",
            "months": "1 year 2 months",
            "nan": "nan",
            "bytes": "3q0=",
            "nothing": None,
            "a": "a",
            "a_1": "b",
            "list": [{"at": "2026-05-11T08:00:00Z", "d": "1.50"}],
            "yes": True,
            "zero": "0.000000000000000000",
            "map": {"false": ["infinity"]},
        }
    ]
    assert report["columns"][2] == {"name": "money", "type": "DECIMAL(18,2)"}


def test_json_of_a_statement_without_a_result_says_what_it_changed(run: Run, shop: Workshop) -> None:
    report = validated(run("query", "--json", "COPY orders TO 'out.csv'"))

    assert report == {"schema_version": 1, "columns": [], "rows": [], "row_count": 0, "changed": 3}


def test_json_is_whole_or_an_error(run: Run, shop: Workshop) -> None:
    outcome = run("query", "--json", "SELECT CASE WHEN n < 99 THEN n ELSE error('late') END FROM events")

    assert outcome.code == 1
    assert outcome.data["error"]["code"] == "store.query_failed"


def test_csv_is_what_duckdb_writes(run: Run, shop: Workshop) -> None:
    outcome = run("query", "--csv", "SELECT id, customer, total FROM orders ORDER BY id")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == 'id,customer,total\n1,Ada,10.00\n2,,100.00\n3,"",\n'


def test_csv_of_no_rows_has_its_names(run: Run, shop: Workshop) -> None:
    assert run("query", "--csv", "SELECT id, customer FROM orders WHERE false").out == "id,customer\n"


def test_csv_of_a_statement_that_is_no_query(run: Run, shop: Workshop) -> None:
    outcome = run("query", "--csv", "CREATE TEMP TABLE t(i INT); INSERT INTO t VALUES (1), (2) RETURNING i")

    assert outcome.out == "i\n1\n2\n"


def test_an_error_within_csv_is_told(run: Run, shop: Workshop) -> None:
    outcome = run("query", "--csv", "SELECT CASE WHEN n < 99 THEN n ELSE error('late') END FROM events")

    assert outcome.code == 1
    assert outcome.err.startswith("error[store.query_failed]: ")


def test_a_parquet_file_has_all_rows_and_their_types(run: Run, shop: Workshop, tmp_path: Path) -> None:
    outcome = run("query", "--parquet", "out.parquet", "FROM orders ORDER BY id")

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"wrote 3 rows to {tmp_path / 'out.parquet'}\n"
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["total"] for row in rows] == [Decimal("10.00"), Decimal("100.00"), None]


def test_a_parquet_file_that_cannot_be_made_leaves_the_old_one(
    run: Run, shop: Workshop, tmp_path: Path
) -> None:
    (tmp_path / "out.parquet").write_text("old")

    outcome = run(
        "query",
        "--parquet",
        "out.parquet",
        "SELECT CASE WHEN n < 99 THEN n ELSE error('late') END FROM events",
    )

    assert outcome.code == 1
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert [path.name for path in tmp_path.glob(".out*")] == []


def test_a_link_to_a_parquet_file_stays_one(run: Run, shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "real.parquet").write_text("old")
    (tmp_path / "link.parquet").symlink_to("elsewhere/real.parquet")

    outcome = run("query", "--parquet", "link.parquet", "FROM orders")

    assert outcome.code == 0
    assert (tmp_path / "link.parquet").is_symlink()
    assert pq.read_table(tmp_path / "elsewhere" / "real.parquet").num_rows == 3


def test_what_is_no_regular_file_is_not_replaced_by_one(run: Run, shop: Workshop, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    outcomes = [run("query", "--parquet", name, "FROM orders") for name in ("pipe", "link")]

    assert [outcome.code for outcome in outcomes] == [2, 2]
    assert outcomes[0].err.startswith(f"error[store.not_a_file]: `{tmp_path / 'pipe'}` is no regular file")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["pivot.parquet", "[a]*?.parquet"])
def test_a_pivot_can_be_a_parquet_file(run: Run, shop: Workshop, tmp_path: Path, name: str) -> None:
    outcome = run("query", "--parquet", name, "PIVOT orders ON customer USING count(*) GROUP BY id")

    assert (outcome.code, outcome.err) == (0, f"wrote 3 rows to {tmp_path / name}\n")
    assert pq.ParquetFile(tmp_path / name).metadata.num_rows == 3


@pytest.mark.parametrize("target", ["none/out.parquet", "."])
def test_a_parquet_file_needs_a_folder(run: Run, shop: Workshop, target: str) -> None:
    outcome = run("query", "--parquet", target, "FROM orders")

    assert (outcome.code, outcome.err.partition("\n")[0]) == (
        2,
        f"error[usage]: `{target}` cannot be written",
    )


def test_what_is_no_query_cannot_be_a_parquet_file(run: Run, shop: Workshop) -> None:
    assert run("query", "--parquet", "x.parquet", "PRAGMA version").code == 2
    assert run("query", "--parquet", "x.parquet", "SET threads = 2").code == 2


# What is wrong ----------------------------------------------------------------------------------------------


def test_a_wrong_statement_is_told_with_its_place(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELECT id,\n  custmer\nFROM orders")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[store.sql_refused]: Binder Error: ")
    assert "LINE 2:   custmer\n" in outcome.err
    assert outcome.err.splitlines()[-1].strip(" ^") == ""


def test_what_is_no_sql_is_told_with_its_place(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELEC 1")

    assert outcome.code == 2
    assert outcome.err.startswith("error[store.sql_refused]: Parser Error: ")
    assert "LINE 1: SELEC 1\n" in outcome.err


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT corrupted FROM orders",
        "SELECT parquet_path, zstd_level FROM orders",
        "SELEC 'parquet'",
        "FROM 'nofile.parquet'",
        "FROM read_parquet('nofile.parquet')",
        "SELECT nosuch FROM read_parquet('{part}')",
    ],
)
def test_a_mistake_is_not_told_as_damage_whatever_words_it_has(run: Run, shop: Workshop, sql: str) -> None:
    part = next(shop.layout.table_folder("events").rglob("part-*.parquet"))

    outcome = run("query", sql.format(part=part))

    assert outcome.code == 2
    assert outcome.err.startswith("error[store.sql_refused]: ")
    assert "hint" not in outcome.err


@pytest.mark.parametrize(
    "sql", ["SELECT 'parquet'::INT", "FROM 'mine.parquet'", "COPY orders TO 'no/x.parquet'"]
)
def test_what_goes_wrong_elsewhere_is_no_damage_of_the_store(
    run: Run, shop: Workshop, tmp_path: Path, sql: str
) -> None:
    (tmp_path / "mine.parquet").write_text("these are no bytes of a Parquet file")

    outcome = run("query", sql)

    assert outcome.code == 1
    assert outcome.err.startswith("error[store.query_failed]: ")
    assert "hint" not in outcome.err


def test_a_damaged_file_is_named_by_whatever_path_its_view_reads_it(
    run: Run, shop: Workshop, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(shop.layout.root)
    with open_workshop(other) as same:
        same.publisher.publish_anew()
    path = next(shop.layout.table_folder("events").rglob("part-*.parquet"))
    path.unlink()

    outcome = run("query", "FROM events")

    assert outcome.code == 1
    assert outcome.err.startswith(f"error[store.damaged_file]: `{shop.layout.relative(path)}` of the store")


def test_an_unknown_table_is_told_the_nearest(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELECT * FROM ordres")

    assert outcome.code == 2
    assert outcome.err.startswith(
        "error[store.unknown_table]: Catalog Error: Table with name ordres does not exist"
    )
    assert outcome.err.endswith("hint: did you mean `orders`?\n")


def test_a_table_like_no_other_is_told_where_the_tables_are(run: Run, shop: Workshop) -> None:
    assert run("query", "FROM zebras").err.endswith("hint: `FROM hakiri.tables` lists the tables there are\n")


def test_a_variable_of_the_program_is_no_table(run: Run, shop: Workshop) -> None:
    assert run("query", "FROM statement").code == 2


def test_a_store_without_tables_says_what_to_do_next(run: Run, workshop: Workshop) -> None:
    asked, known = run("query", "FROM orders"), run("query", "SELECT 1 AS a")

    assert asked.code == 2
    assert asked.err.endswith("hint: the store has no tables yet; `hakiri apply` pulls what there is\n")
    assert (known.code, known.out) == (0, "a\n1\n")
    assert known.err == "the store of `shop` has no tables yet; `hakiri apply` pulls what there is\n"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE mine AS SELECT 1",
        "CREATE OR REPLACE VIEW orders AS SELECT 1",
        "DROP VIEW orders",
        "CREATE SCHEMA mine",
    ],
)
def test_the_store_cannot_be_changed(run: Run, shop: Workshop, sql: str) -> None:
    before = shop.layout.duck_db.read_bytes()

    outcome = run("query", sql)

    assert outcome.code == 2
    assert outcome.err.startswith("error[store.read_only]: ")
    assert shop.layout.duck_db.read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{path}'",
        "COPY (SELECT 1) TO 'file:{path}' (FORMAT parquet)",
        "COPY (SELECT 1) TO 'file://localhost{path}' (FORMAT parquet)",
        "COPY (SELECT 1) TO '{root}/new.csv'",
        "COPY (SELECT 1 a, 2 b) TO 'x' (PARTITION_BY a, FILENAME_PATTERN '../../.hakiri/context/shop/x')",
        "COPY (SELECT 1 AS a, 2 AS b) TO '.' (PARTITION_BY a, OVERWRITE)",
        "WITH x AS (COPY (SELECT 1) TO '{path}') FROM x",
        "SET home_directory = '{root}/..'; COPY (SELECT 1) TO '~/shop/x.csv'",
        "USE memory; DETACH store; ATTACH E'{escaped}/duck.db' AS d; DROP VIEW d.events",
        "CALL enable_logging(storage = 'file', storage_path = '{root}/logs')",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{root}/logs')",
    ],
)
def test_no_file_of_the_store_is_written(run: Run, shop: Workshop, sql: str) -> None:
    root = shop.layout.root
    files = {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}
    path, escaped = next(root.rglob("part-*.parquet")), str(root).replace("shop", "sh\\x6fp")

    outcome = run("query", sql.format(root=root, path=path, escaped=escaped))

    assert outcome.code == 2
    assert outcome.err.startswith(("error[store.writes_into_store]: ", "error[store.sql_refused]: "))
    assert {each: each.read_bytes() for each in root.rglob("*") if each.is_file()} == files


def test_no_file_of_the_store_becomes_an_answer(run: Run, shop: Workshop) -> None:
    path = next(shop.layout.root.rglob("part-*.parquet"))
    before = path.read_bytes()

    outcome = run("query", "--parquet", str(path), "SELECT 1")

    assert outcome.code == 2
    assert outcome.err.startswith("error[store.writes_into_store]: ")
    assert path.read_bytes() == before


@pytest.mark.parametrize("sql", ["SELECT sum(n) FROM events", "FROM events LIMIT 1"])
def test_a_file_that_is_gone_is_named(run: Run, shop: Workshop, sql: str) -> None:
    path = next(shop.layout.table_folder("events").rglob("part-*.parquet"))
    path.unlink()

    outcome = run("query", sql)

    assert outcome.code == 1
    assert outcome.err == (
        f"error[store.damaged_file]: `{shop.layout.relative(path)}` of the store cannot be read:"
        " it is not there\n"
        "hint: `hakiri context check` says what else is damaged, and what can be mended\n"
    )


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_file_that_was_cut_is_named(run: Run, shop: Workshop, kept: float) -> None:
    path = next(shop.layout.table_folder("events").rglob("part-*.parquet"))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept) if isinstance(kept, float) else kept])

    outcome = run("query", "SELECT sum(n) FROM events")

    assert outcome.code == 1
    assert outcome.err.startswith(
        f"error[store.damaged_file]: `{shop.layout.relative(path)}` of the store cannot"
    )


def test_a_flipped_byte_that_duckdb_stumbles_over_is_told_with_what_to_do(run: Run, shop: Workshop) -> None:
    path = next(shop.layout.table_folder("events").rglob("part-*.parquet"))
    data = path.read_bytes()
    told = []
    for place in range(4, len(data) - 8, len(data) // 40):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        outcome = run("query", "SELECT sum(hash(events)) FROM events")
        if outcome.code:
            told.append((outcome.code, "hint: `hakiri context check` says " in outcome.err))

    assert set(told) == {(1, True)}


def test_a_statement_that_fails_while_it_runs_ends_with_1(run: Run, shop: Workshop) -> None:
    outcome = run("query", "SELECT CAST(what AS INTEGER) FROM events")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error[store.query_failed]: Conversion Error: ")


# The list of tables -----------------------------------------------------------------------------------------


@pytest.mark.spec("HC-022")
def test_the_tables_are_listed_with_their_rows(run: Run, shop: Workshop) -> None:
    report = validated(
        run("query", "--json", "SELECT * EXCLUDE (freshness) FROM hakiri.tables ORDER BY table_name")
    )

    events, orders = report["rows"]
    files = [path.stat().st_size for path in shop.layout.table_folder("orders").rglob("part-*.parquet")]
    assert orders == {
        "table_name": "orders",
        "rows": 3,
        "row_versions": 4,
        "bytes": sum(files),
        "columns": 4,
        "primary_key": ["id"],
        "pipelines": ["shop"],
        "runs": 2,
        "chunks": 2,
        "files": 2,
        "snapshots": 0,
        "quarantined": 0,
        "last_row_at": f"{T0:%Y-%m-%dT%H:%M:%S.%f}Z",
    }
    assert (events["table_name"], events["rows"], events["row_versions"]) == ("events", 100, 100)


def test_freshness_is_the_time_since_the_last_rows(run: Run, shop: Workshop) -> None:
    outcome = run(
        "query",
        "SELECT bool_and(last_row_at + freshness BETWEEN now() - INTERVAL 1 HOUR AND now()) AS ok"
        " FROM hakiri.tables",
    )

    assert outcome.out == "ok\ntrue\n"


def test_the_list_of_a_store_without_tables_is_empty(run: Run, workshop: Workshop) -> None:
    assert run("query", "SELECT count(*) AS c FROM hakiri.tables").out == "c\n0\n"


# The shell around -------------------------------------------------------------------------------------------


def test_a_reader_that_leaves_early_ends_it_quietly(shop: Workshop, tmp_path: Path) -> None:
    for form in ([], ["--csv"]):
        with subprocess.Popen(
            [HAKIRI, "query", *form, "SELECT * FROM range(10000000)"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read()

        assert (process.returncode, said) == (0, b"")


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"], ["--parquet", "x.parquet"]])
def test_ctrl_c_stops_a_statement(shop: Workshop, tmp_path: Path, form: list[str]) -> None:
    forever = "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range * b.range % 7 = 3"
    begun = "COPY (SELECT 1) TO '/dev/stderr' (FORMAT csv, HEADER false, USE_TMP_FILE false)"
    with subprocess.Popen(
        [HAKIRI, "query", *form, f"{begun}; {forever}"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "1\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()

    assert (process.returncode, said) == (130, "interrupted\n")
    assert not list(tmp_path.glob("*x.parquet*"))


def test_the_answer_needs_neither_pyarrow_nor_the_manifest_nor_spark(shop: Workshop, tmp_path: Path) -> None:
    code = (
        "import sys; from hakiri.cli import main\n"
        "assert main(['query', 'SELECT count(*) AS c, now() AS t FROM orders']) == 0\n"
        "print(*(name for name in ('pyarrow', 'pydantic', 'pyspark', 'pandas', 'sqlite3', 'rich.console')"
        " if name in sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[2:] == [""]


def test_days_before_now_and_other_types_of_the_store_come_through(run: Run, shop: Workshop) -> None:
    schema = pa.schema([("d", pa.date32()), ("t", pa.duration("us")), ("l", pa.list_(pa.int64()))])
    rows = [{"d": date(1969, 12, 31), "t": timedelta(days=1, seconds=1), "l": [1, None]}]
    shop.land(rows, schema, table=TableName("odd"))
    shop.publish(TableName("odd"))

    report = validated(run("query", "--json", "FROM odd"))

    assert report["rows"] == [{"d": "1969-12-31", "t": "24:00:01", "l": [1, None]}]
