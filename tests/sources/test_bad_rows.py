"""Rows that do not fit at the source, in pipelines that really run: they are set aside, or fail the chunk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.compiled import HEAD
from tests.support.http_api import HttpApi, Reply
from tests.support.runtime import Lab, stopping_at

from hakiri.core.errors import Place
from hakiri.manifest import load_project
from hakiri.pipelines.expectations import ExpectationFailed
from hakiri.pipelines.runtime.steps import Step
from hakiri.sources.errors import BadRecord
from hakiri.store.manifests import AttemptManifest
from hakiri.transforms import compile_project, write_compiled

pytestmark = pytest.mark.spark

QUARANTINE = 'on_bad_row = "quarantine"'
WORD = "`amount` has `n/a`, which is no int64"
DOUBLED = 'return orders.where("amount <> 2").withColumn("amount", F.col("amount") * 2)'
SOURCES = ("csv", "jsonl", "sqlite", "rest")


@pytest.fixture
def lab(tmp_path: Path, spark: Any) -> Lab:
    return Lab(root=tmp_path, spark=spark)


@contextmanager
def orders_in(kind: str, root: Path) -> Iterator[str]:
    """Five orders, of which the third has a word as its amount; the source as a manifest has it."""
    rows = [(1, 1, "Ada"), (2, 2, "Bo"), (3, "n/a", "Cy"), (4, 4, "Di"), (5, 5, "Ed")]
    records = [dict(zip(("id", "amount", "name"), row, strict=True)) for row in rows]
    if kind == "rest":
        with HttpApi(lambda call: Reply(body=records)) as api:
            resource = '{ name = "orders", columns = { amount = "bigint" }, primary_key = ["id"] }'
            yield f'{{ connector = "rest", config = {{ base_url = "{api.url}", resources = [{resource}] }} }}'
        return
    if kind == "sqlite":
        with closing(sqlite3.connect(root / "shop.db")) as database, database:
            database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER, name TEXT)")
            database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        yield '{ connector = "sql", config = { url = "sqlite:shop.db" } }'
        return
    lines = [",".join(map(str, row)) for row in rows] if kind == "csv" else [json.dumps(r) for r in records]
    head = ["id,amount,name"] if kind == "csv" else []
    (root / f"orders.{kind}").write_text("".join(f"{line}\n" for line in [*head, *lines]))
    yield (f'{{ connector = "files", config = {{ path = "*.{kind}", columns = {{ amount = "bigint" }} }} }}')


def manifest(source: str, *table: str) -> str:
    keys = ", ".join(['name = "orders"', 'primary_key = ["id"]', *table])
    return f'[[pipeline]]\nid = "p"\nsource = {source}\ntables = [{{ {keys} }}]\n'


def with_transform(lab: Lab, body: str) -> None:
    (lab.root / "transforms").mkdir()
    (lab.root / "transforms" / "p.py").write_text(f'{HEAD}@hk.pipeline("p")\ndef step(orders):\n    {body}\n')
    project = load_project(lab.root)
    write_compiled(project.root, compile_project(project))


def counts(lab: Lab) -> dict[str, int]:
    """Of all chunks that are done."""
    manifests = [AttemptManifest.parse(each.manifest).counts for each in lab.chunks() if each.manifest]
    names = ("read", "written", "quarantined", "filtered")
    return {name: sum(getattr(one, name) for one in manifests) for name in names}


def aside(lab: Lab) -> list[tuple[str, dict[str, Any]]]:
    found = lab.query("SELECT _reason, _row FROM orders__quarantine ORDER BY _position, _row")
    return [(reason, json.loads(row)) for reason, row in found]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_row_that_does_not_fit_is_set_aside_and_the_others_are_stored(lab: Lab, kind: str) -> None:
    with orders_in(kind, lab.root) as source:
        applied = lab.write(manifest(source, QUARANTINE)).applied()

    assert lab.query("SELECT id, amount FROM orders ORDER BY id") == [(1, 1), (2, 2), (4, 4), (5, 5)]
    ((reason, row),) = aside(lab)
    assert reason == WORD
    assert (row["amount"], row["name"], str(row["id"])) == ("n/a", "Cy", "3")
    assert counts(lab) == {"read": 5, "written": 4, "quarantined": 1, "filtered": 0}
    assert applied.result is not None
    assert applied.result.quarantined == 1


@pytest.mark.parametrize("kind", SOURCES)
def test_what_does_not_fit_goes_past_the_transform(lab: Lab, kind: str) -> None:
    with orders_in(kind, lab.root) as source:
        lab.write(manifest(source, QUARANTINE))
        with_transform(lab, DOUBLED)
        lab.applied()

    assert lab.query("SELECT id, amount FROM orders ORDER BY id") == [(1, 2), (4, 8), (5, 10)]
    assert [reason for reason, _ in aside(lab)] == [WORD]
    assert counts(lab) == {"read": 5, "written": 3, "quarantined": 1, "filtered": 1}


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_expectations_are_of_the_rows_that_fit(lab: Lab, kind: str) -> None:
    expect = (
        'expect = [{ column = "amount", not_null = true }, '
        '{ column = "amount", range = { max = 4 }, on_fail = "quarantine" }, '
        '{ column = "name", unique = true, on_fail = "quarantine" }]'
    )
    with orders_in(kind, lab.root) as source:
        lab.write(manifest(source, QUARANTINE, expect)).applied()

    assert lab.query("SELECT id FROM orders ORDER BY id") == [(1,), (2,), (4,)]
    assert sorted(reason for reason, _ in aside(lab)) == [WORD, "expected `amount` of at most 4"]
    assert counts(lab) == {"read": 5, "written": 3, "quarantined": 2, "filtered": 0}


@pytest.mark.parametrize(
    ("kind", "where", "places"),
    [("csv", "orders.csv", (Place("orders.csv", 4),)), ("sqlite", "orders", None)],
)
def test_without_quarantine_the_chunk_fails_and_the_error_tells_of_it(
    lab: Lab, kind: str, where: str, places: tuple[Place, ...] | None
) -> None:
    with orders_in(kind, lab.root) as source:
        (applied,) = lab.write(manifest(source)).apply()

    assert isinstance(applied.error, BadRecord)
    assert str(applied.error) == f"a row of `{where}` does not fit: {WORD}"
    assert applied.error.hint.endswith('or set `on_bad_row = "quarantine"` for the table')
    assert places is None or applied.error.places == places
    assert counts(lab)["read"] == 0


@pytest.mark.parametrize("kind", ["jsonl", "rest"])
def test_without_quarantine_an_open_table_keeps_the_value_in_extra(lab: Lab, kind: str) -> None:
    with orders_in(kind, lab.root) as source:
        lab.write(manifest(source)).applied()

    assert lab.query("SELECT amount, _extra FROM orders WHERE id = 3") == [(None, '{"amount":"n/a"}')]
    assert counts(lab) == {"read": 5, "written": 5, "quarantined": 0, "filtered": 0}


def test_lines_that_are_no_rows_are_set_aside_as_they_stand(lab: Lab) -> None:
    (lab.root / "a.csv").write_bytes(b"id,name\n1,Ada\n2\n3,Cy,more\n4,Jos\xe9\n5,Ed\n")
    (lab.root / "b.csv").write_text("name,id\nFay,6\n")
    source = '{ connector = "files", config = { path = "*.csv" } }'

    lab.write(manifest(source, QUARANTINE)).applied()

    assert lab.query("SELECT id, name FROM orders ORDER BY id") == [(1, "Ada"), (5, "Ed"), (6, "Fay")]
    assert sorted(aside(lab), key=str) == [
        ("`name` has `Jos\ufffd`, which is not utf-8", {"_file": "a.csv", "id": "4", "name": "Jos\ufffd"}),
        ("it has 1 field instead of 2", {"_file": "a.csv", "_line": "2"}),
        ("it has 3 fields instead of 2", {"_file": "a.csv", "_line": "3,Cy,more"}),
    ]
    assert counts(lab) == {"read": 6, "written": 3, "quarantined": 3, "filtered": 0}


@pytest.mark.parametrize("body", [None, "return orders"])
def test_a_broken_line_of_json_is_set_aside_as_it_stands(lab: Lab, body: str | None) -> None:
    (lab.root / "a.jsonl").write_bytes(b'{"id": 1}\n{"id":\n{"id": 2}\n{"id": "\xff"}\n')
    source = '{ connector = "files", config = { path = "*.jsonl" } }'
    lab.write(manifest(source, QUARANTINE))
    if body is not None:
        with_transform(lab, body)

    lab.applied()

    assert lab.query("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
    assert sorted(row["_line"] for _, row in aside(lab)) == ['{"id":', '{"id": "\ufffd"}']
    assert counts(lab) == {"read": 4, "written": 2, "quarantined": 2, "filtered": 0}


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
@pytest.mark.parametrize("step", [Step.JOB_DONE, Step.MANIFEST_WRITTEN])
def test_after_a_crash_nothing_is_set_aside_twice(lab: Lab, kind: str, step: Step) -> None:
    def crash() -> None:
        raise KeyboardInterrupt

    with orders_in(kind, lab.root) as source:
        lab.write(manifest(source, QUARANTINE))
        with pytest.raises(KeyboardInterrupt):
            lab.apply(reached=stopping_at(step, crash))
        lab.applied()
        lab.ran()

    assert lab.query("SELECT count(*) FROM orders") == [(4,)]
    assert [reason for reason, _ in aside(lab)] == [WORD]


def test_a_chunk_that_was_read_twice_leaves_no_file_of_the_first_time(lab: Lab) -> None:
    for number in range(8):
        amount = "n/a" if number == 7 else number
        (lab.root / f"{number}.csv").write_text(f"id,amount\n{number},{amount}\n")
    source = '{ connector = "files", config = { path = "*.csv", columns = { amount = "bigint" } } }'

    lab.write(manifest(source, QUARANTINE)).applied()

    (chunk,) = [each for each in lab.chunks() if each.manifest]
    told = AttemptManifest.parse(chunk.manifest)
    files = {path.name for path in lab.layout.root.rglob("chunk-*/attempt-*/*.parquet")}
    assert files == {file.name for file in (*told.files, *told.quarantine)}
    assert counts(lab) == {"read": 8, "written": 7, "quarantined": 1, "filtered": 0}


def redacted(lab: Lab, source: str, column: str) -> Lab:
    return lab.write(manifest(source, QUARANTINE, f"columns = {{ {column} = {{ redact = true }} }}"))


def test_redacted_columns_are_set_aside_without_their_values(lab: Lab) -> None:
    with orders_in("sqlite", lab.root) as source:
        redacted(lab, source, "amount").applied()

    assert aside(lab) == [("`amount` has a value that is no int64", {"id": 3, "name": "Cy"})]


def test_nothing_of_a_row_is_kept_that_a_transform_would_have_redacted(lab: Lab) -> None:
    with orders_in("sqlite", lab.root) as source:
        redacted(lab, source, "label")
        with_transform(lab, 'return orders.withColumnRenamed("name", "label")')
        lab.applied()

    assert aside(lab) == [("`amount` has a value that is no int64", {})]


def test_an_error_tells_nothing_of_a_redacted_column(lab: Lab) -> None:
    with orders_in("csv", lab.root) as source:
        lab.write(manifest(source, "columns = { amount = { redact = true } }"))
        (applied,) = lab.apply()

    assert str(applied.error) == "a row of `orders.csv` does not fit: `amount` has a value that is no int64"


def test_a_row_that_was_set_aside_at_the_source_is_not_missing(lab: Lab) -> None:
    with orders_in("sqlite", lab.root) as source:
        lab.write(manifest(source, QUARANTINE, 'deletes = "missing"')).applied()
        with closing(sqlite3.connect(lab.root / "shop.db")) as database, database:
            database.execute("UPDATE orders SET amount = 'much' WHERE id = 4")
            database.execute("DELETE FROM orders WHERE id = 5")
        lab.ran()

    assert lab.query("SELECT id FROM orders ORDER BY id") == [(1,), (2,), (4,)]


def test_rows_that_come_later_are_read_from_behind_those_that_were_set_aside(lab: Lab) -> None:
    with orders_in("sqlite", lab.root) as source:
        lab.write(manifest(source, QUARANTINE, 'incremental = "id"'))
        with closing(sqlite3.connect(lab.root / "shop.db")) as database, database:
            database.execute("INSERT INTO orders VALUES (6, 'bad', 'Flo')")
        lab.applied()
        lab.ran()
        with closing(sqlite3.connect(lab.root / "shop.db")) as database, database:
            database.execute("INSERT INTO orders VALUES (7, 7, 'Gil')")
        lab.ran()

    assert lab.query("SELECT max(id), count(*) FROM orders") == [(7, 5)]
    assert sorted(row["id"] for _, row in aside(lab)) == [3, 6]


def test_an_expectation_that_fails_is_not_about_rows_that_were_set_aside(lab: Lab) -> None:
    with orders_in("csv", lab.root) as source:
        expect = 'expect = [{ column = "amount", range = { max = 4 } }]'
        (applied,) = lab.write(manifest(source, QUARANTINE, expect)).apply()

    assert isinstance(applied.error, ExpectationFailed)
    assert "1 row" in str(applied.error)
