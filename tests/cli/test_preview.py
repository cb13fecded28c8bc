"""`hakiri preview`, on the Spark server that the tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

if TYPE_CHECKING:
    from conftest import Run
    from hakiri.engine import EngineHome

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schemas" / "preview.json"
SHARED = ("--set", "engine.master=local[2]", "--set", "engine.driver_memory=1GiB")
MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "orders"
source = { connector = "files", config = { path = "data/*.csv" } }
tables = ["orders"]
"""
HELP = "run `hakiri preview --help` for what it takes"
UNKNOWN = "manifest.unknown_pipeline]: no pipeline has the id `ordres`"
BAD_ROWS = "usage]: invalid value for `--rows`"
HEAD = 'import hakiri as hk\nfrom pyspark.sql import functions as F\n\n\n@hk.pipeline("orders")\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"hakiri.toml": MANIFEST, "data/a.csv": "id,name\n1,Ada\n2,\n3,Bob\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def preview(
    run: Run, project: Path, spark: Any, shared_home: EngineHome, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs `hakiri preview` on the server that is up, in a project over three rows."""
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(shared_home.runtime))
    monkeypatch.setenv("HAKIRI_CACHE_DIR", str(shared_home.cache))
    return lambda *args: run("preview", *args, *SHARED)


def transform(project: Path, body: str) -> None:
    (project / "transforms").mkdir()
    (project / "transforms" / "orders.py").write_text(f"{HEAD}def orders(df):\n{body}")


@pytest.mark.spark
def test_the_rows_are_on_stdout_and_the_words_on_stderr(preview: Run) -> None:
    outcome = preview("orders")

    assert (outcome.code, outcome.out) == (0, "id  name\n1   Ada\n2   ∅\n3   Bob\n")
    assert outcome.err == "\n3 rows of pipeline `orders`; nothing was written\n"


@pytest.mark.spark
def test_the_steps_are_named_and_one_row_is_one(preview: Run, project: Path) -> None:
    transform(project, "    return df.where('id = 3')\n")

    outcome = preview("orders")

    assert outcome.out == "id  name\n3   Bob\n"
    assert outcome.err == (
        "\n1 row of pipeline `orders` through transforms/orders.py:5; nothing was written\n"
    )


@pytest.mark.spark
def test_verbose_shows_the_types_and_quiet_only_the_rows(preview: Run) -> None:
    verbose, quiet = preview("orders", "-v", "--rows", "1"), preview("orders", "-q", "--rows", "1")

    assert verbose.out == "id (bigint)  name (string)\n1            Ada\n"
    assert verbose.err.startswith("Spark was warm (server ")
    assert (quiet.out, quiet.err) == ("id  name\n1   Ada\n", "")


@pytest.mark.spark
def test_json_has_every_value_without_loss(preview: Run, project: Path) -> None:
    transform(
        project,
        "    return df.limit(1).selectExpr('CAST(1.5 AS DECIMAL(5,2)) AS price',\n"
        "        \"TIMESTAMP'2026-01-31 08:00:00' AS at\", \"DATE'2026-01-31' AS day\", \"X'00FF' AS b\",\n"
        "        \"named_struct('tags', array('x', null)) AS nested\", \"map('k', 1) AS map\",\n"
        "        \"double('NaN') AS odd\", 'CAST(null AS INT) AS nothing')\n",
    )

    outcome = preview("orders", "--json")

    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(outcome.data)
    assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
    assert outcome.data["rows"] == [
        {
            "price": "1.50",
            "at": "2026-01-31T08:00:00Z",
            "day": "2026-01-31",
            "b": "AP8=",
            "nested": {"tags": ["x", None]},
            "map": {"k": 1},
            "odd": "nan",
            "nothing": None,
        }
    ]
    assert outcome.data["columns"][0] == {"name": "price", "type": "decimal(5,2)"}
    assert outcome.data["steps"] == ["transforms/orders.py:5"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("    total = 1 / 0\n    return df\n", 7, "ZeroDivisionError: division by zero"),
        (
            "    return df.select(F.col('nmae'))\n",
            7,
            (
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name "
                "`nmae` cannot be resolved. Did you mean one of the following? [`id`, `name`]. "
                "SQLSTATE: 42703"
            ),
        ),
    ],
)
def test_a_transform_that_fails_is_told_with_its_line_and_nothing_else(
    preview: Run, project: Path, body: str, line: int, problem: str
) -> None:
    transform(project, body)

    outcome = preview("orders")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"error[transforms.failed]: the transform of pipeline `orders` failed: {problem}\n"
        f"  --> transforms/orders.py:{line}\n"
        "hint: mend that line; --verbose shows the whole traceback\n"
    )


@pytest.mark.spark
def test_a_file_that_does_not_fit_is_told_with_its_name(preview: Run, project: Path) -> None:
    (project / "data" / "b.csv").write_text("id,name\n4\n")

    outcome = preview("orders")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error[sources.bad_record]: a row of `data/b.csv` does not fit: it has 1 field instead of 2\n"
        "  --> data/b.csv:2\n"
        'hint: mend the row, or set `on_bad_row = "quarantine"` for the table\n'
    )


@pytest.mark.parametrize(
    ("args", "problem", "hint"),
    [
        (
            ("ordres",),
            "manifest.unknown_pipeline]: no pipeline has the id `ordres`",
            "did you mean `orders`?",
        ),
        ((), "usage]: missing argument `ID`", HELP),
        (("orders", "--rows", "0"), f"{BAD_ROWS}: Input should be greater than or equal to 1", HELP),
        (("orders", "--rows", "10001"), f"{BAD_ROWS}: Input should be less than or equal to 10000", HELP),
    ],
)
def test_what_cannot_be_meant_is_refused_before_spark(
    run: Run, project: Path, args: tuple[str, ...], problem: str, hint: str
) -> None:
    outcome = run("preview", *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error[{problem}\nhint: {hint}\n"


def test_a_missing_file_is_told_before_spark(run: Run, project: Path) -> None:
    (project / "data" / "a.csv").unlink()

    outcome = run("preview", "orders", "--json")

    assert outcome.code == 1
    assert outcome.err == (
        "error[sources.no_files]: no file matches `data/*.csv`\n"
        "  --> hakiri.toml:4\n"
        "hint: check `path` in the source's config; it starts at the project's folder\n"
    )
    assert outcome.data["error"]["places"] == [{"file": "hakiri.toml", "line": 4}]


@pytest.mark.spec("HP-010")
def test_a_missing_secret_is_told_and_nothing_is_started(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "hakiri.toml").write_text(f'{MANIFEST}secrets = ["SHOP_TOKEN"]\n')
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(project / "runtime"))
    monkeypatch.delenv("SHOP_TOKEN", raising=False)

    outcome = run("preview", "orders")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[secrets.missing]: secret `SHOP_TOKEN` is not set in the environment, "
        "wanted by pipeline `orders`\n"
        "hint: export SHOP_TOKEN=...\n"
    )
    assert not (project / "runtime").exists()
