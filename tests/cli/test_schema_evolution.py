"""`hakiri schema log | accept | migrate | reconcile`: how columns changed, and deciding about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.store.workshop import ORDERS, PIPELINE, Workshop, open_workshop
from tests.support.own_connectors import connector_text

from hakiri.catalog import Catalog
from hakiri.catalog.contract.pipelines import Failure
from hakiri.cli.reports.schemas import report_schema
from hakiri.pipelines.evolution import (
    ContractMode,
    SchemaIncompatible,
    TableShape,
    evolve,
    shape_of,
    step_to,
)
from hakiri.pipelines.refusals import note_refusal
from hakiri.sources.json_rows.types import declared_schema

if TYPE_CHECKING:
    from conftest import Outcome, Run

BEGIN = datetime(2020, 1, 31, 8, tzinfo=UTC)  # the command line has the clock of the machine
MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "shop"
source = { connector = "ledger" }
tables = [{ name = "book", as = "orders" }]
"""
BODY = """\
def discover(self, only=None):
    import json
    from hakiri.sources.json_rows.types import declared_schema
    told = json.loads((self.context.root / "columns.json").read_text())
    schema = declared_schema(told["columns"])
    return [Table(name="book", schema=schema, primary_key=tuple(told["key"]))]
"""
ORIGINAL = {"id": "bigint", "amount": "bigint", "region": "string"}
NARROW = ORIGINAL | {"amount": "int"}
OTHER = ORIGINAL | {"amount": "string", "region": "boolean"}


@pytest.fixture
def project(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline whose source has the columns that a file says, and a table that it filled."""
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "ledger.py").write_text(connector_text(body=BODY, name="Ledger"))
    (tmp_path / "hakiri.toml").write_text(MANIFEST)
    monkeypatch.setenv("LOGNAME", "ada")
    has_now(tmp_path, ORIGINAL)
    with opened(tmp_path) as workshop:
        comes(workshop.catalog, ORIGINAL)
    return tmp_path


def has_now(project: Path, columns: dict[str, str], *key: str) -> None:
    (project / "columns.json").write_text(json.dumps({"columns": columns, "key": key or ("id",)}))


@contextmanager
def opened(project: Path) -> Iterator[Workshop]:
    with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
        yield workshop


def comes(catalog: Catalog, columns: dict[str, str], *key: str, at: datetime = BEGIN) -> None:
    """What a run does about the schema: take the step, or fail."""
    incoming = TableShape(schema=declared_schema(columns), primary_key=key or ("id",))
    current = catalog.schemas.current(ORDERS)
    stored = None if current is None else shape_of(current)
    made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=False)
    if made.is_refused:
        note_refusal(
            catalog, pipeline=PIPELINE, table=ORDERS, incoming=incoming, refused=made.refused, now=at
        )
        failure = Failure(
            run=None, kind=SchemaIncompatible.code, message="columns were refused", at=at, spec_hash=None
        )
        catalog.pipelines.fail(PIPELINE, failure, at)
        return
    step = step_to(made.shape, made.changes, table=ORDERS, based_on=0 if current is None else current.version)
    catalog.schemas.record(step, PIPELINE, at)


def current(project: Path) -> TableShape:
    with opened(project) as workshop:
        found = workshop.catalog.schemas.current(ORDERS)
        assert found is not None
        return shape_of(found)


def is_waiting(project: Path) -> bool:
    with opened(project) as workshop:
        state = workshop.catalog.pipelines.get(PIPELINE)
        return state is not None and state.failure is not None


def data(name: str, outcome: Outcome) -> dict[str, Any]:
    """The report, which fits its schema and has all of it."""
    schema = report_schema(name)
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data.keys() == schema["properties"].keys()
    found: dict[str, Any] = outcome.data
    return found


# Log --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-074")
def test_the_log_lists_every_decision(run: Run, project: Path) -> None:
    with opened(project) as workshop:
        comes(workshop.catalog, ORIGINAL | {"note": "string"}, at=BEGIN + timedelta(hours=1))
        comes(workshop.catalog, NARROW | {"note": "string"}, at=BEGIN + timedelta(hours=2))
    has_now(project, NARROW)
    run("schema", "accept", "--pipeline", "shop", "--as", "grace")

    outcome = run("schema", "log", "shop")

    assert (outcome.code, outcome.err) == (0, "")
    assert re.sub(r"(?!2020)20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", "(when it was done) ", outcome.out) == (
        "table   version  when (UTC)           decided by      change\n"
        "orders  1        2020-01-31 08:00:00  auto            table created with 3 columns\n"
        "orders  2        2020-01-31 09:00:00  auto            column `note` added as string\n"
        "orders  -        2020-01-31 10:00:00  auto            refused: column `amount` changed from int64 "
        "to int32 (int32 holds fewer values than int64)\n"
        "orders  3        (when it was done)   operator:grace  column `amount` changed from int64 to int32\n"
    )


def test_the_log_as_data_has_rules_and_refusals(run: Run, project: Path) -> None:
    with opened(project) as workshop:
        comes(workshop.catalog, NARROW)

    report = data("schema-log", run("schema", "log", "shop", "--table", "book", "--json"))

    assert report["pipeline"] == "shop"
    assert report["entries"] == [
        {
            "table": "orders",
            "version": 1,
            "is_refused": False,
            "pipeline": "shop",
            "change_kind": "create",
            "changes": [
                {
                    "kind": "create",
                    "column": "",
                    "before": None,
                    "after": "3 columns",
                    "rule": "the table is new",
                }
            ],
            "decided_by": "auto",
            "at": "2020-01-31T08:00:00Z",
        },
        {
            "table": "orders",
            "version": None,
            "is_refused": True,
            "pipeline": "shop",
            "change_kind": "narrow_type",
            "changes": [
                {
                    "kind": "narrow_type",
                    "column": "amount",
                    "before": "int64",
                    "after": "int32",
                    "rule": "int32 holds fewer values than int64",
                }
            ],
            "decided_by": "auto",
            "at": "2020-01-31T08:00:00Z",
        },
    ]


def test_a_pipeline_that_never_ran_has_an_empty_log_and_gets_no_catalog(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop", "--quiet")

    outcome = run("schema", "log", "orders")

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "nothing was decided about the tables of pipeline `orders` yet\n"
    assert not list(tmp_path.rglob("meta.sqlite"))


def test_a_pipeline_that_left_the_manifest_still_has_its_log(run: Run, project: Path) -> None:
    (project / "hakiri.toml").write_text('[project]\nname = "shop"\n')

    assert "table created" in run("schema", "log", "shop").out
    assert run("schema", "log", "shopp").err.startswith("error[manifest.")


def test_a_table_that_the_pipeline_does_not_have_is_told(run: Run, project: Path) -> None:
    outcome = run("schema", "log", "shop", "--table", "order")

    assert outcome.code == 2
    assert outcome.err == (
        "error[pipelines.no_such_table]: pipeline `shop` does not pull a table `order`\n"
        "hint: did you mean `orders`?\n"
    )


# Accept -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-070")
def test_what_was_refused_is_let_through_and_the_pipeline_goes_on(run: Run, project: Path) -> None:
    has_now(project, NARROW)
    with opened(project) as workshop:
        comes(workshop.catalog, NARROW)
    was_waiting = is_waiting(project)

    outcome = run("schema", "accept", "--pipeline", "shop")

    assert outcome.code == 0
    assert outcome.out == (
        "orders is at version 2:\n"
        "  column `amount` changed from int64 to int32: an operator accepted it, and the column is int64\n"
    )
    assert outcome.err == "decided by operator:ada\npipeline `shop` goes on with its next run\n"
    assert (was_waiting, is_waiting(project)) == (True, False)
    assert current(project).schema == declared_schema(ORIGINAL)


def test_accepting_as_data(run: Run, project: Path) -> None:
    has_now(project, OTHER, "region")

    report = data(
        "schema-accept", run("schema", "accept", "--pipeline", "shop", "--table", "orders", "--json")
    )

    (table,) = report["tables"]
    assert (report["pipeline"], report["decided_by"], report["is_released"]) == (
        "shop",
        "operator:ada",
        False,
    )
    assert (table["table"], table["version"]) == ("orders", 2)
    assert [change["column"] for change in table["changes"]] == ["amount", "region"]
    assert [change["kind"] for change in table["refused"]] == ["change_key"]
    assert current(project).schema == declared_schema(ORIGINAL | {"amount": "string"})


def test_only_a_chosen_column_is_let_through(run: Run, project: Path) -> None:
    has_now(project, OTHER)

    outcome = run("schema", "accept", "--pipeline", "shop", "--column", "region")

    assert outcome.out == (
        "orders is at version 2:\n"
        "  column `region` changed from string to bool: an operator accepted it, and the column is string\n"
    )
    assert outcome.err == (
        "decided by operator:ada\n"
        "warning: table `orders` still refuses: column `amount` changed from int64 to string "
        "(only string holds the values of both)\n"
        "hint: cast it in a transform, or run `hakiri schema accept --pipeline shop`\n"
    )


def test_a_column_of_which_nothing_is_refused_is_told(run: Run, project: Path) -> None:
    has_now(project, NARROW)

    outcome = run("schema", "accept", "--pipeline", "shop", "--column", "id")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[pipelines.nothing_refused]: nothing that pipeline `shop` brings to `id` is refused\n"
        "hint: refused is amount\n"
    )


def test_where_nothing_is_refused_there_is_nothing_to_accept(run: Run, project: Path) -> None:
    outcome = run("schema", "accept", "--pipeline", "shop")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "nothing to accept: the tables take all that pipeline `shop` brings\n"


def test_behind_a_transform_what_the_last_run_refused_is_let_through(run: Run, project: Path) -> None:
    (project / "hakiri.toml").write_text(MANIFEST + 'transforms = ["shop"]\n')
    with opened(project) as workshop:
        comes(workshop.catalog, NARROW)

    outcome = run("schema", "accept", "--pipeline", "shop")

    assert outcome.out.splitlines()[0] == "orders is at version 2:"


def test_whole_numbers_within_the_reach_of_doubles_need_no_decision(run: Run, project: Path) -> None:
    has_now(project, ORIGINAL | {"amount": "double"})
    with opened(project) as workshop:
        workshop.land([{"id": 1, "amount": 2**53, "region": "eu"}], current_schema(workshop), "id")

    fitting = run("schema", "accept", "--pipeline", "shop")
    with opened(project) as workshop:
        workshop.plans = iter(range(10, 20))
        workshop.land([{"id": 2, "amount": 2**53 + 1, "region": "eu"}], current_schema(workshop), "id")
    beyond = run("schema", "accept", "--pipeline", "shop")

    assert fitting.out.startswith("nothing to accept")
    assert beyond.out == (
        "orders is at version 2:\n"
        "  column `amount` changed from int64 to double: an operator accepted it, and the column is string\n"
    )
    with opened(project) as workshop:
        assert workshop.query("SELECT amount FROM orders ORDER BY id") == [(str(2**53),), (str(2**53 + 1),)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            None,
            "nobody says who decides\nhint: give a name without blanks with `--as`, or `--as agent:<id>`\n",
        ),
        (
            "ada l",
            (
                "`ada l` cannot be the name of who decides\n"
                "hint: give a name without blanks with `--as`, or `--as agent:<id>`\n"
            ),
        ),
    ],
)
def test_a_decision_has_a_name(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, name: str | None, told: str
) -> None:
    for variable in ("LOGNAME", "USER", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    given = () if name is None else ("--as", name)

    outcome = run("schema", "accept", "--pipeline", "shop", *given)

    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"error[usage]: {told}")


def test_without_a_catalog_there_is_nothing_to_decide(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop", "--quiet")

    outcome = run("schema", "accept", "--pipeline", "orders", "--as", "ada")

    assert outcome.code == 2
    assert outcome.err.startswith("error[catalog.too_old]: there is no catalog at ")


# Migrate ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-073")
def test_a_migration_gives_the_table_another_key(run: Run, project: Path) -> None:
    with opened(project) as workshop:
        comes(workshop.catalog, ORIGINAL, "id", "region")
        workshop.land(
            [{"id": 1, "amount": 1, "region": "eu"}, {"id": 2, "amount": 2, "region": "eu"}],
            current_schema(workshop),
            "id",
        )
        workshop.publish()

    wide = run("schema", "migrate", "--pipeline", "shop", "--table", "book", "--primary-key", "id, region")
    narrow = run("schema", "migrate", "--pipeline", "shop", "--table", "orders", "--primary-key", "region")
    again = run("schema", "migrate", "--pipeline", "shop", "--table", "orders", "--primary-key", "region")

    assert (wide.code, narrow.code, again.code) == (0, 0, 0)
    assert (
        wide.out == "orders is at version 2:\n  primary key changed from id to id, region: it was migrated\n"
    )
    assert wide.err == "decided by operator:ada\npipeline `shop` goes on with its next run\n"
    assert narrow.err == (
        "decided by operator:ada\nwarning: 1 row is not seen any more, since a newer one has the same key\n"
    )
    assert again.out == "nothing to do: region is the primary key of orders already\n"
    with opened(project) as workshop:
        assert workshop.query("SELECT id FROM orders") == [(2,)]


def test_a_key_can_be_taken_away(run: Run, project: Path) -> None:
    call = ("schema", "migrate", "--pipeline", "shop", "--table", "orders", "--no-primary-key", "--json")

    report = data("schema-migrate", run(*call))

    assert (report["primary_key"], report["rows_hidden"], report["table"]["version"]) == ([], 0, 2)
    assert current(project).primary_key == ()


def test_a_manifest_that_says_another_key_is_told(run: Run, project: Path) -> None:
    (project / "hakiri.toml").write_text(
        MANIFEST.replace('as = "orders"', 'as = "orders", primary_key = ["id"]')
    )

    outcome = run("schema", "migrate", "--pipeline", "shop", "--table", "orders", "--primary-key", "amount")

    assert outcome.err == (
        "decided by operator:ada\n"
        "warning: the manifest says that the primary key of `book` is id\n"
        "hint: change `primary_key` there too, or the next run is refused\n"
    )


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--primary-key", "place"), "these columns cannot be a primary key: there is no column `place`"),
        ((), "a migration needs the new key"),
        (("--primary-key", ","), "a migration needs the new key"),
        (("--primary-key", "id", "--no-primary-key"), "a migration needs the new key"),
    ],
)
def test_a_migration_that_cannot_be_is_refused(
    run: Run, project: Path, args: tuple[str, ...], told: str
) -> None:
    outcome = run("schema", "migrate", "--pipeline", "shop", "--table", "orders", *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert told in outcome.err
    assert current(project).primary_key == ("id",)


# Reconcile --------------------------------------------------------------------------------------------------


def test_two_catalogs_become_one(run: Run, project: Path, tmp_path: Path) -> None:
    with open_workshop(tmp_path / "a replica") as replica:
        comes(replica.catalog, {"id": "bigint", "amount": "double", "place": "string"})

    first = run("schema", "reconcile", "orders", "--with", "a replica/meta.sqlite")
    again = run("schema", "reconcile", "orders", "--with", f"sqlite:///{tmp_path}/a%20replica/meta.sqlite")

    assert (first.code, again.code) == (0, 0)
    assert first.out == (
        "orders is at version 2:\n"
        "  column `amount` changed from int64 to string: an operator accepted it, and the column is string\n"
        "  column `place` added as string: it is appended, and rows from before have NULL there\n"
    )
    assert again.out == "nothing to do: our schema of orders has all of theirs\n"


def test_a_choice_is_made_by_taking_a_side(run: Run, project: Path, tmp_path: Path) -> None:
    with open_workshop(tmp_path / "replica") as replica:
        comes(replica.catalog, ORIGINAL, "id", "region")
    call = ("schema", "reconcile", "orders", "--with", "replica/meta.sqlite", "--json")

    open_question = run(*call)
    report = data("schema-reconcile", run(*call, "--take", "theirs"))

    assert open_question.code == 1
    assert open_question.err == (
        "error[pipelines.schemas_diverged]: the two schemas of table `orders` do not go together: "
        "the primary key is `id` here and `id`, `region` there\n"
        "hint: choose with `--take ours` or `--take theirs`\n"
    )
    assert report["other"] == f"sqlite:///{tmp_path}/replica/meta.sqlite"
    assert [change["kind"] for change in report["table"]["changes"]] == ["change_key"]
    assert current(project).primary_key == ("id", "region")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("orders", "--with", "none.sqlite"), "error[usage]: there is no catalog `none.sqlite`\n"),
        (
            ("orders", "--with", "none.sqlite", "--take", "mine"),
            "error[usage]: `--take mine` takes no side\n",
        ),
        (("others", "--with", ".hakiri/context/shop/meta.sqlite"), "error[pipelines.no_schema_yet]: "),
    ],
)
def test_a_reconciliation_that_cannot_be_is_refused(
    run: Run, project: Path, args: tuple[str, ...], told: str
) -> None:
    outcome = run("schema", "reconcile", *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(told)
    assert not (project / "none.sqlite").exists()


def current_schema(workshop: Workshop) -> Any:
    found = workshop.catalog.schemas.current(ORDERS)
    assert found is not None
    return shape_of(found).schema
