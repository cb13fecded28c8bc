"""What compiled transforms do to rows, written both ways; on Spark, from the artifact as it is stored."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from tests.support.compiled import STEP, compiled_orders

from hakiri.transforms import Artifact, transformed
from hakiri.transforms.running import stored_plans

pytestmark = pytest.mark.spark

ISSUES = [
    {
        "id": 1, "state": "open", "n": 5, "country": "DE", "name": "Ångström 😀",
        "created_at": "2026-03-29T01:30:00+01:00",
        "user": {"login": "ada", "address": {"city": "Köln"}}, "raw": '{"a": {"b": [1, 2]}}',
        "labels": [{"name": "bug", "weight": 2}, {"name": "help", "weight": 1}],
    },
    {
        "id": 2, "state": "closed", "n": 7, "country": "FR", "name": "  b-12 ",
        "created_at": "1969-12-31T23:59:59.999Z",
        "user": {"login": "bob", "address": None}, "raw": "no json", "labels": [],
    },
    {
        "id": 3, "state": "open", "n": None, "country": "DE", "name": None, "created_at": None,
        "user": None, "raw": None, "labels": None,
    },
]  # fmt: skip
SCHEMA = (
    "id bigint, state string, n int, country string, name string, created_at string, raw string, "
    "user struct<login: string, address: struct<city: string>>, "
    "labels array<struct<name: string, weight: int>>"
)
COUNTRIES = [{"country": "DE", "title": "Germany"}, {"country": "US", "title": "United States"}]


class Case(NamedTuple):
    python: str
    sql: str
    rows: list[tuple[Any, ...]]


CASES = {
    "HP-079": Case(
        'df.select("id", F.col("user.login").alias("author"), F.col("user.address.city").alias("city"))',
        "SELECT id, user.login AS author, user.address.city AS city FROM input",
        [(1, "ada", "Köln"), (2, "bob", None), (3, None, None)],
    ),
    "HP-080": Case(
        'df.select("id", "n").withColumns({"twice": F.col("n") * 2, "n": F.lit(0)})',
        "SELECT id, 0 AS n, n * 2 AS twice FROM input",
        [(1, 0, 10), (2, 0, 14), (3, 0, None)],
    ),
    "HP-081": Case(
        'df.select("id", F.unix_millis(F.col("created_at").cast("timestamp")).alias("ms"))',
        "SELECT id, unix_millis(CAST(created_at AS timestamp)) AS ms FROM input",
        [(1, 1774744200000), (2, -1), (3, None)],
    ),
    "HP-082": Case(
        'df.select("id", F.length("name").alias("len"), F.trim("name").alias("t"), '
        'F.regexp_extract("name", "([0-9]+)", 1).alias("d"), '
        'F.year(F.to_timestamp("created_at")).alias("y"))',
        "SELECT id, length(name) AS len, trim(name) AS t, regexp_extract(name, '([0-9]+)', 1) AS d, "
        "year(to_timestamp(created_at)) AS y FROM input",
        [(1, 10, "Ångström 😀", "", 2026), (2, 7, "b-12", "12", 1969), (3, None, None, None, None)],
    ),
    "HP-083": Case(
        'df.select("id", F.transform("labels", lambda label: label["name"]).alias("names"), '
        'F.size("labels").alias("count"), F.struct("id", "n").alias("both"))',
        "SELECT id, transform(labels, l -> l.name) AS names, size(labels) AS count, struct(id, n) AS both "
        "FROM input",
        [(1, ["bug", "help"], 2, (1, 5)), (2, [], 0, (2, 7)), (3, None, None, (3, None))],
    ),
    "HP-084": Case(
        'df.where((F.col("state") == "open") & F.col("n").isNotNull()).select("id")',
        "SELECT id FROM input WHERE state = 'open' AND n IS NOT NULL",
        [(1,)],
    ),
    "HP-085": Case(
        'df.select("id", "n").orderBy(F.desc_nulls_last("n"))',
        "SELECT id, n FROM input ORDER BY n DESC NULLS LAST",
        [(2, 7), (1, 5), (3, None)],
    ),
    "HP-086": Case(
        'df.groupBy("country").agg(F.count("*").alias("c"), F.sum("n").alias("s"))',
        "SELECT country, count(*) AS c, sum(n) AS s FROM input GROUP BY country",
        [("DE", 2, 5), ("FR", 1, 7)],
    ),
    "HP-087": Case(
        'df.join(countries, "country", "left").select("id", "title")',
        "SELECT id, title FROM input LEFT JOIN countries USING (country)",
        [(1, "Germany"), (2, None), (3, "Germany")],
    ),
    "HP-088": Case(
        'df.select("id", F.row_number()'
        '.over(Window.partitionBy("country").orderBy(F.desc("id"))).alias("nth"))',
        "SELECT id, row_number() OVER (PARTITION BY country ORDER BY id DESC) AS nth FROM input",
        [(1, 2), (2, 1), (3, 1)],
    ),
    "HP-089": Case(
        'df.select("id", F.get_json_object("raw", "$.a.b[1]").alias("b"), '
        'F.get_json_object("raw", "$.x").alias("x"))',
        "SELECT id, get_json_object(raw, '$.a.b[1]') AS b, get_json_object(raw, '$.x') AS x FROM input",
        [(1, "2", None), (2, None, None), (3, None, None)],
    ),
}  # fmt: skip

Run = Callable[[Artifact], Any]


@pytest.fixture(scope="module")
def issues(spark: Any) -> Any:
    return spark.createDataFrame(ISSUES, SCHEMA)


@pytest.fixture(scope="module")
def run(spark: Any, issues: Any) -> Run:
    """The issues through an artifact, as a frame."""
    countries = spark.createDataFrame(COUNTRIES, "country string, title string")

    def through(artifact: Artifact) -> Any:
        plans = stored_plans([artifact], "orders", ["countries"])
        return transformed(issues, plans, {"countries": countries})

    return through


def artifact_of(folder: Path, name: str, text: str) -> Artifact:
    return compiled_orders(folder, {name: text}).artifact


def python_step(expression: str) -> str:
    return f"{STEP}def step(df, countries):\n    return {expression}\n"


def sql_step(query: str) -> str:
    return f"-- @pipeline: orders\n{query}\n"


def plain(frame: Any, *, is_ordered: bool = False) -> list[tuple[Any, ...]]:
    rows = [tuple(tuple(v) if isinstance(v, tuple) else v for v in row) for row in frame.collect()]
    return rows if is_ordered else sorted(rows, key=lambda row: str(row[0]))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(CASES["HP-079"], id="HP-079", marks=pytest.mark.spec("HP-079")),
        pytest.param(CASES["HP-080"], id="HP-080", marks=pytest.mark.spec("HP-080")),
        pytest.param(CASES["HP-081"], id="HP-081", marks=pytest.mark.spec("HP-081")),
        pytest.param(CASES["HP-082"], id="HP-082", marks=pytest.mark.spec("HP-082")),
        pytest.param(CASES["HP-083"], id="HP-083", marks=pytest.mark.spec("HP-083")),
        pytest.param(CASES["HP-084"], id="HP-084", marks=pytest.mark.spec("HP-084")),
        pytest.param(CASES["HP-085"], id="HP-085", marks=pytest.mark.spec("HP-085")),
        pytest.param(CASES["HP-086"], id="HP-086", marks=pytest.mark.spec("HP-086")),
        pytest.param(CASES["HP-087"], id="HP-087", marks=pytest.mark.spec("HP-087")),
        pytest.param(CASES["HP-088"], id="HP-088", marks=pytest.mark.spec("HP-088")),
        pytest.param(CASES["HP-089"], id="HP-089", marks=pytest.mark.spec("HP-089")),
    ],
)
def test_both_surfaces_give_the_rows(run: Run, tmp_path: Path, case: Case) -> None:
    python = artifact_of(tmp_path / "python", "orders.py", python_step(case.python))
    sql = artifact_of(tmp_path / "sql", "orders.sql", sql_step(case.sql))
    is_ordered = "orderBy(F.desc_nulls" in case.python

    first, second = run(python), run(sql)

    assert plain(first, is_ordered=is_ordered) == case.rows
    assert plain(second, is_ordered=is_ordered) == case.rows
    assert sorted(first.columns) == sorted(second.columns)


@pytest.mark.spec("HP-077")
def test_only_the_plan_decides_what_happens_to_rows(run: Run, tmp_path: Path) -> None:
    artifact = artifact_of(tmp_path, "orders.py", python_step('df.select("id").where("id > 1")'))
    altered = replace(
        artifact, source_hash="sha256:0", source_lang="cobol", sources=("nowhere",), pipeline="refunds"
    )

    assert plain(run(altered)) == plain(run(artifact)) == [(2,), (3,)]


@pytest.mark.spec("HP-093")
def test_what_is_written_has_the_result_and_nothing_of_the_input(run: Run, tmp_path: Path) -> None:
    artifact = artifact_of(
        tmp_path, "orders.py", python_step('df.where("id = 1").select("id", F.lit("kept").alias("word"))')
    )

    run(artifact).write.parquet(str(tmp_path / "out"))

    table = pq.read_table(tmp_path / "out")
    assert table.to_pydict() == {"id": [1], "word": ["kept"]}
    assert [
        path for path in (tmp_path / "out").rglob("*") if path.is_file() and b"Angstr" in path.read_bytes()
    ] == []


@pytest.mark.spec("HP-097")
def test_a_redacted_value_is_nowhere_on_disk(spark: Any, tmp_path: Path) -> None:
    secret = "ada.lovelace@example.org"
    people = spark.createDataFrame(
        [(1, secret, "4242424242424242", "070-1234", "private")],
        "id int, email string, card string, phone string, note string",
    )
    body = (
        'hk.redact.drop(df, "note").withColumns({"email": hk.redact.hash("email", salt="s"), '
        '"card": hk.redact.mask("card", keep_last=4), "phone": hk.redact.tokenize("phone", kind="phone")})'
    )
    artifact = artifact_of(tmp_path / "project", "orders.py", f"{STEP}def step(df):\n    return {body}\n")

    out = tmp_path / "out"
    transformed(people, stored_plans([artifact], "orders", []), {}).write.option(
        "compression", "none"
    ).parquet(str(out))

    (row,) = pq.read_table(out).to_pylist()
    assert row["email"] == hashlib.sha256(f"s{secret}".encode()).hexdigest()
    assert row["card"] == "************4242"
    assert row["phone"].startswith("phone_")
    assert len(row["phone"]) == len("phone_") + 22
    assert "note" not in row
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert [
        word for word in (secret, "424242424242", "070-1234", "private") if word.encode() in written
    ] == []


@pytest.mark.spec("HP-096")
def test_a_view_over_transformed_tables_joins_them(run: Run, tmp_path: Path) -> None:
    """The transform gives the form in which rows land; what joins tables is SQL over the store."""
    for name, expression in {
        "issues": 'df.select("id", F.col("user.login").alias("author"))',
        "places": 'df.select("id", F.upper("country").alias("country")).where("id < 3")',
    }.items():
        artifact = artifact_of(tmp_path / name, "orders.py", python_step(expression))
        run(artifact).write.parquet(str(tmp_path / "store" / name))
    query = (
        "CREATE VIEW whole AS SELECT * FROM read_parquet('store/issues/*.parquet') AS issues "
        "JOIN read_parquet('store/places/*.parquet') AS places USING (id); SELECT * FROM whole ORDER BY id"
    )

    # In a process of its own: DuckDB's binding says things when the process ends.
    done = subprocess.run(
        [sys.executable, "-c", f"import duckdb; print(duckdb.connect().execute({query!r}).fetchall())"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[(1, 'ada', 'DE'), (2, 'bob', 'FR')]\n"


def test_masking_keeps_only_what_it_is_told_to(spark: Any, tmp_path: Path) -> None:
    texts = ["abcdef", "ab", "a😀é", "", None, "a\nb"]
    kept = {
        (0, 0): ["******", "**", "***", "", None, "***"],
        (1, 2): ["a***ef", "**", "***", "", None, "***"],
    }
    columns = ", ".join(
        f'hk.redact.mask("t", keep_first={first}, keep_last={last}).alias("k{first}{last}")'
        for first, last in kept
    )
    artifact = artifact_of(tmp_path, "orders.py", f"{STEP}def step(df):\n    return df.select({columns})\n")
    rows = spark.createDataFrame([(text,) for text in texts], "t string")

    masked = transformed(rows, stored_plans([artifact], "orders", []), {}).collect()

    assert {key: [row[number] for row in masked] for number, key in enumerate(kept)} == kept


def test_a_column_of_the_input_frame_is_found_by_its_frame(run: Run, tmp_path: Path) -> None:
    """`df.id` points at a relation by its id: the stored plan must point at the grafted one."""
    body = 'df.join(countries, df.country == countries.country, "inner").select(df.id, countries.title)'
    artifact = artifact_of(tmp_path, "orders.py", python_step(body))

    assert "plan_id" in json.dumps(artifact.plan)
    assert plain(run(artifact)) == [(1, "Germany"), (3, "Germany")]
