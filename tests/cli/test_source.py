"""`hakiri source`: which connectors there are, and what the sources of pipelines hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.support.own_connectors import connector_text

from hakiri.cli.scaffold.connector import connector_files

if TYPE_CHECKING:
    from conftest import Outcome, Run

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
MARKER = "marker/of+the secret"
BODY = """
def discover(self, only=None):
    known = {table.name: table for table in (LOANS, READERS)}
    for name in only or ():
        if name not in known:
            raise PermanentFailure(f"the library has no table `{name}`", hint="see `hakiri source tables`")
    return [table for name, table in known.items() if only is None or name in only]

def open(self, read):
    self.discover([read.table])
    for start in range(0, 40, 4):
        loans = [
            {"id": n, "at": AT, "fee": Decimal(n), "about": {"tags": ["x", None]}, "note": n and NOTE or None}
            for n in range(start, start + 4)
        ]
        yield Batch(rows=pa.RecordBatch.from_pylist(loans, schema=LOANS.schema))

def backfill_hint(self, table):
    if table == "loans":
        return Hint(cursor_kind="partitioned-monotonic", partition_keys=("branch",),
                    natural_window=Duration.parse("30d"), rate_budget=Rate.parse("60/s"), cursor_field="at")
    return Hint()

def check(self):
    token = self.config.token.fill(self.context.secrets)
    if not token.startswith("marker"):
        raise AuthExpired(f"the library does not know `{token}`", hint="export a LIBRARY_TOKEN that is valid")
    return "a library with 2 tables"
"""
HEAD = """\
from datetime import UTC, datetime
from decimal import Decimal
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
"""
TABLES = """\
AT, NOTE = datetime(2026, 5, 11, 8, tzinfo=UTC), "a\\nb"
LOANS = Table(
    name="loans",
    schema=pa.schema({
        "id": pa.int64(), "at": pa.timestamp("us", tz="UTC"), "fee": pa.decimal128(5, 2),
        "about": pa.struct({"tags": pa.list_(pa.string())}), "note": pa.string(),
    }),
    primary_key=("id",), cursor_fields=("at",), estimated_rows=12345, description="what was lent",
)
READERS = Table(name="readers", schema=pa.schema({"name": pa.string()}))
"""
CONFIG = """\
token: SecretTemplate = Field(description="What opens the library.", examples=["${LIBRARY_TOKEN}"])
pages: int = Field(7, description="How many to turn.")
"""
MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "loans"
source = { connector = "library", config = { token = "${LIBRARY_TOKEN}" } }
tables = ["loans"]
secrets = ["LIBRARY_TOKEN"]
"""
HELP = "run `hakiri source sample --help` for what it takes"


def library() -> str:
    text = connector_text(config=CONFIG, body=BODY, name="Library")
    return HEAD + text.replace("\n\nclass LibraryConfig", f"\n{TABLES}\n\nclass LibraryConfig").replace(
        "counts to five", "a library"
    ).replace('"partitioned-monotonic"', "CursorKind.PARTITIONED_MONOTONIC")


def validate(name: str, outcome: Outcome) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)


def told(outcome: Outcome) -> str:
    """What was said, but for the line that says what is being done when that takes longer than a second."""
    return re.sub(r"^(asking|reading|checking) .* …\n", "", outcome.err)


def with_pipeline(project: Path, *blocks: str) -> None:
    (project / "hakiri.toml").write_text("\n".join([MANIFEST, *blocks]))


@pytest.fixture
def project(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project over a library that wants a token; its runtime folder shows whether Spark was started."""
    monkeypatch.setenv("LIBRARY_TOKEN", MARKER)
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(tmp_path / "runtime"))
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "library.py").write_text(library())
    (tmp_path / "hakiri.toml").write_text(MANIFEST)
    return tmp_path


def test_connectors_are_listed_with_where_they_come_from(run: Run, project: Path) -> None:
    outcome = run("source", "list")

    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0].split() == ["connector", "origin", "where", "what", "it", "reads"]
    assert [line.split()[0] for line in lines[1:]] == sorted(line.split()[0] for line in lines[1:])
    assert "library       project   connectors/library.py  a library" in lines


def test_connectors_are_listed_without_a_project_and_as_data(run: Run) -> None:
    outcome = run("source", "list", "--json")

    assert outcome.code == 0
    validate("source-list", outcome)
    assert {"files", "sql", "rest"} <= {row["name"] for row in outcome.data["connectors"]}


def test_listing_connectors_loads_none_of_them(tmp_path: Path) -> None:
    code = (
        "import sys; from hakiri.cli import main; assert main(['source', 'list', '-q']) == 0; "
        "print(*(n for n in ('pyarrow', 'httpx2', 'orjson', 'pyspark', 'duckdb') if n in sys.modules), "
        "file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stderr.strip() == ""


def test_a_connector_is_described_with_a_pipeline_to_begin_with(run: Run, project: Path) -> None:
    outcome = run("source", "describe", "library")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "library: a library (project, connectors/library.py)\n"
        "\n"
        "key    type                     default   what it is\n"
        "token  text; as `${NAME}` only  required  What opens the library.\n"
        "pages  whole number             7         How many to turn.\n"
        "\n"
        "in the manifest:\n"
        "\n"
        "[[pipeline]]\n"
        'id = "library-example"\n'
        'source = { connector = "library", config = { token = "${LIBRARY_TOKEN}" } }\n'
        'tables = ["a_table"]\n'
        'secrets = ["LIBRARY_TOKEN"]\n'
    )


def test_a_description_as_data_has_the_schema_of_the_config(run: Run, project: Path) -> None:
    outcome = run("source", "describe", "library", "--json")

    validate("source-describe", outcome)
    schema = outcome.data["config_schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["token"]
    assert [key["secrets"] for key in outcome.data["keys"]] == ["must", "no"]


def test_a_connector_that_is_not_there_is_told_with_the_nearest(run: Run, project: Path) -> None:
    outcome = run("source", "describe", "libary")

    assert outcome.code == 2
    assert outcome.err == (
        "error[sources.unknown_connector]: there is no connector `libary`\n"
        "  --> command line\n"
        "hint: did you mean `library`?\n"
    )


def test_a_broken_connector_is_told_with_its_file(run: Run, project: Path) -> None:
    (project / "connectors" / "library.py").write_text("import nothing_of_this_name\n")

    outcome = run("source", "describe", "library")

    assert outcome.code == 2
    assert outcome.err == (
        "error[sources.broken_connector]: connector `library` cannot be loaded: "
        "ModuleNotFoundError: No module named 'nothing_of_this_name'\n"
        "  --> connectors/library.py\n"
        "hint: mend it; `hakiri source new` shows how a connector looks\n"
    )


@pytest.mark.spec("HP-024")
@pytest.mark.spec("HP-111")
def test_tables_are_shown_with_columns_keys_and_hints(run: Run, project: Path) -> None:
    outcome = run("source", "tables", "loans")

    assert (outcome.code, told(outcome)) == (0, "")
    assert outcome.out == (
        "loans  (about 12,345 rows, pulled)\n"
        "    about       what was lent\n"
        "    key         id\n"
        "    cursor      at (partitioned-monotonic)\n"
        "    window      30d\n"
        "    partitions  by branch\n"
        "    budget      60/s\n"
        "      id     int64\n"
        "      at     timestamp[us, tz=UTC]\n"
        "      fee    decimal128(5, 2)\n"
        "      about  struct<tags: list<item: string>>\n"
        "      note   string\n"
        "\n"
        "readers\n"
        "    cursor      opaque-token\n"
        "      name  string\n"
    )
    assert not (project / "runtime").exists()


def test_tables_as_data_have_all_of_it(run: Run, project: Path) -> None:
    outcome = run("source", "tables", "loans", "--json")

    validate("source-tables", outcome)
    loans, readers = outcome.data["tables"]
    assert (loans["is_pulled"], readers["is_pulled"]) == (True, False)
    assert loans["hint"] == {
        "cursor_kind": "partitioned-monotonic",
        "cursor_field": "at",
        "window": "30d",
        "partition_keys": ["branch"],
        "rate_budget": "60/s",
    }


def test_a_sample_is_ten_rows_without_spark(run: Run, project: Path) -> None:
    outcome = run("source", "sample", "loans")

    lines = outcome.out.splitlines()
    assert (outcome.code, len(lines)) == (0, 11)
    assert lines[:2] == [
        "id  at                         fee   about                  note",
        '0   2026-05-11 08:00:00+00:00  0.00  {"tags": ["x", null]}  ∅',
    ]
    assert lines[2].endswith("a⏎b")
    assert told(outcome) == "\n10 rows of table `loans` of pipeline `loans`; nothing was written\n"
    assert not (project / "runtime").exists()


def test_a_sample_as_data_has_every_value_without_loss(run: Run, project: Path) -> None:
    outcome = run("source", "sample", "loans", "loans", "--rows", "2", "--json")

    validate("source-sample", outcome)
    assert told(outcome) == ""
    assert outcome.data["table"] == "loans"
    assert outcome.data["columns"][2] == {"name": "fee", "type": "decimal128(5, 2)"}
    assert outcome.data["rows"][1] == {
        "id": 1,
        "at": "2026-05-11T08:00:00Z",
        "fee": "1.00",
        "about": {"tags": ["x", None]},
        "note": "a\nb",
    }
    assert len(outcome.data["rows"]) == 2


def test_verbose_shows_types_and_quiet_only_rows(run: Run, project: Path) -> None:
    verbose, quiet = run("source", "sample", "loans", "-v"), run("source", "sample", "loans", "-q")

    assert verbose.out.startswith("id (int64)  at (timestamp[us, tz=UTC])  ")
    assert quiet.err == ""


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ('"loans"', "loans"),
        ('"loans"', "library_loans"),
        ('"library_loans"', "library_loans"),
        ('{ name = "loans", as = "lent" }', "lent"),
    ],
)
def test_a_table_is_found_by_its_name_at_the_source_and_in_the_store(
    run: Run, project: Path, declared: str, asked: str
) -> None:
    (project / "hakiri.toml").write_text(MANIFEST.replace('["loans"]', f"[{declared}]"))

    outcome = run("source", "sample", "loans", asked, "--json")

    assert (outcome.code, outcome.data["table"]) == (0, "loans")


def test_a_table_that_is_not_there_is_the_sources_to_tell(run: Run, project: Path) -> None:
    outcome = run("source", "sample", "loans", "laons")

    assert (outcome.code, outcome.out) == (1, "")
    assert told(outcome) == (
        "error[sources.permanent]: the library has no table `laons`\nhint: see `hakiri source tables`\n"
    )


@pytest.mark.parametrize(
    ("args", "problem", "hint"),
    [
        (("lons",), "manifest.unknown_pipeline]: no pipeline has the id `lons`", "did you mean `loans`?"),
        ((), "usage]: missing argument `PIPELINE`", HELP),
        (
            ("loans", "--rows", "0"),
            "usage]: invalid value for `--rows`: Input should be greater than or equal to 1",
            HELP,
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    run: Run, project: Path, args: tuple[str, ...], problem: str, hint: str
) -> None:
    outcome = run("source", "sample", *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert told(outcome) == f"error[{problem}\nhint: {hint}\n"


@pytest.mark.spec("HP-010")
def test_a_missing_secret_is_told_before_the_source_is_asked(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIBRARY_TOKEN")

    outcome = run("source", "tables", "loans")

    assert outcome.code == 2
    assert told(outcome) == (
        "error[secrets.missing]: secret `LIBRARY_TOKEN` is not set in the environment, "
        "wanted by pipeline `loans`\n"
        "hint: export LIBRARY_TOKEN=...\n"
    )


def test_a_connector_that_fails_is_told_with_its_line_and_without_its_secret(run: Run, project: Path) -> None:
    text = library().replace(
        "    def open(self, read):\n        self.discover([read.table])\n        for start in range(0, 40",
        "    def open(self, read):\n        raise ValueError(self.config.token.fill(self.context.secrets))\n"
        "        for start in range(0, 40",
    )
    (project / "connectors" / "library.py").write_text(text)
    line = next(n for n, code in enumerate(text.splitlines(), 1) if "raise ValueError(self" in code)

    outcome = run("source", "sample", "loans", "--verbose")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith(
        "error[sources.connector_failed]: connector `library` failed: ValueError: ***\n"
        f"  --> connectors/library.py:{line}\n"
        "hint: mend that line, or raise an error of `hakiri.sources.errors` there; "
        "--verbose shows the whole traceback\n"
    )
    assert MARKER not in outcome.err


def test_the_source_of_every_pipeline_is_checked_in_one_line_each(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLD_TOKEN", "expired-token")
    block = MANIFEST.partition("[[pipeline]]\n")[2].replace("LIBRARY_TOKEN", "OLD_TOKEN")
    with_pipeline(project, "[[pipeline]]\n" + block.replace('id = "loans"', 'id = "old-loans"'))

    outcome = run("source", "check")

    assert (outcome.code, told(outcome)) == (1, "")
    assert outcome.out == (
        "[ok]     loans      library: a library with 2 tables\n"
        "[failed] old-loans  library: the library does not know `***`\n"
        "                    hint: export a LIBRARY_TOKEN that is valid\n"
    )


def test_one_pipeline_that_is_well_ends_with_0(run: Run, project: Path) -> None:
    with_pipeline(project, '[[pipeline]]\nid = "odd"\nsource = { connector = "nowhere" }\ntables = ["x"]\n')

    alone, whole = run("source", "check", "loans"), run("source", "check", "--json")

    assert (alone.code, alone.out) == (0, "[ok]     loans  library: a library with 2 tables\n")
    assert whole.code == 1
    validate("source-check", whole)
    assert [(row["status"], row["code"]) for row in whole.data["checks"]] == [
        ("ok", ""),
        ("failed", "sources.unknown_connector"),
    ]


def test_sources_are_checked_at_once(run: Run, project: Path) -> None:
    body = (
        "def check(self):\n    from tests.support.own_connectors import MEETING\n"
        "    MEETING.wait(timeout=20)\n    return 'met'\n"
    )
    (project / "connectors" / "numbers.py").write_text(connector_text(body=body))
    blocks = [
        f'[[pipeline]]\nid = "n{number}"\nsource = {{ connector = "numbers" }}\n'
        f'tables = [{{ name = "numbers", as = "n{number}" }}]\n'
        for number in range(3)
    ]
    (project / "hakiri.toml").write_text("\n".join(['[project]\nname = "shop"\n', *blocks]))

    outcome = run("source", "check")

    assert outcome.code == 0
    assert outcome.out == "".join(f"[ok]     n{number}  numbers: met\n" for number in range(3))


def test_a_project_without_pipelines_has_nothing_to_check(run: Run, project: Path) -> None:
    (project / "hakiri.toml").write_text('[project]\nname = "shop"\n')

    outcome = run("source", "check")

    assert (outcome.code, outcome.out) == (0, "")


def test_what_takes_longer_than_a_second_says_so(run: Run, project: Path) -> None:
    body = "def check(self):\n    self.context.wait(1.3)\n    return 'slow'\n"
    (project / "connectors" / "numbers.py").write_text(connector_text(body=body))
    (project / "hakiri.toml").write_text(
        MANIFEST.replace("library", "numbers")
        .replace(', config = { token = "${LIBRARY_TOKEN}" }', "")
        .replace('["loans"]', '["numbers"]')
    )

    outcome = run("source", "check")

    assert outcome.err == "checking 1 source …\n"
    assert outcome.out == "[ok]     loans  numbers: slow\n"


def test_a_new_connector_works_at_once_and_passes_its_test(run: Run, project: Path) -> None:
    name, module = "to-do-list", "to_do_list"
    files = [f"connectors/{module}.py", f"tests/test_{module}_connector.py", f"data/{module}.jsonl"]

    made = run("source", "new", name)
    (project / "hakiri.toml").write_text(f"{MANIFEST}\n{made.out}")
    seen = run("source", "sample", name)

    assert made.code == 0
    assert made.err == (
        f"made connector `{name}` in {', '.join(files)}\n"
        "add this to hakiri.toml:\n\n\n"
        f"then:\n  hakiri source sample {name}\n  pytest {files[1]}\n"
    )
    assert tomllib.loads(made.out)["pipeline"][0]["source"] == {
        "connector": name,
        "config": {"path": f"data/{module}.jsonl"},
    }
    assert (seen.code, seen.out.splitlines()[:2]) == (
        0,
        ["id  title                      is_done", "1   write a connector          true"],
    )
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", files[1]],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert "failed" not in tested.stdout


def test_the_guide_shows_the_connector_that_is_made() -> None:
    guide = (SCHEMAS.parent / "sources" / "writing-a-connector.md").read_text()

    assert f"```python\n{connector_files('todo')['connectors/todo.py']}```" in guide


def test_a_new_connector_overwrites_nothing(run: Run, project: Path) -> None:
    run("source", "new", "todo")
    (project / "connectors" / "todo.py").write_text("mine\n")
    (project / "data" / "todo.jsonl").unlink()

    outcome = run("source", "new", "todo")

    assert (outcome.code, outcome.out) == (2, "")
    assert told(outcome) == (
        "error[source.files_in_the_way]: files of a connector `todo` are there already\n"
        "  --> connectors/todo.py\n"
        "  --> tests/test_todo_connector.py\n"
        "hint: choose another name, or move them away\n"
    )
    assert (project / "connectors" / "todo.py").read_text() == "mine\n"
    assert not (project / "data" / "todo.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("files", "error[usage]: there is a connector `files` already (built in)"),
        ("../up", "`../up` is not a connector name: only a-z, 0-9, `-` and `_`, a letter first"),
    ],
)
def test_a_name_that_will_not_do_is_refused(run: Run, project: Path, name: str, problem: str) -> None:
    outcome = run("source", "new", name)

    assert outcome.code == 2
    assert problem in outcome.err
    assert not (project / "tests").exists()


def test_a_new_connector_needs_a_project(run: Run) -> None:
    outcome = run("source", "new", "todo")

    assert outcome.code == 2
    assert outcome.err.startswith("error[manifest.no_project]")
