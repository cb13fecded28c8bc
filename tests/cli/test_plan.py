"""`hakiri plan`: what it shows, in every state, and that it changes nothing."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.cli.test_schemas import validate
from tests.pipelines.operations.scenes import NOW, T0, stop_the_clock, window
from tests.support.counted import CountedSource, manifest, moments
from tests.support.effort import effort_of
from tests.support.past import Shop, pipeline
from tests.support.terminal import terminal

from hakiri.cli.console import Console
from hakiri.cli.plan_text import show_plan
from hakiri.core.clock import FixedClock
from hakiri.core.ids import PipelineId
from hakiri.pipelines import checked_specs, plan_project
from hakiri.pipelines.asking import ask_sources

if TYPE_CHECKING:
    from conftest import Run

HEAVY = ("pyspark", "duckdb", "grpc")
NOTE = "Nothing was changed: `hakiri apply` makes it so, `hakiri preview` shows rows.\n"
ALL_KNOBS = """\
[pipeline.backfill]
window = "30d"
parallelism = 4
rate_budget = "60/min"
start_from = "2024-01-15"
max_chunks_per_tick = 8
destination_writes_per_sec = 2.5
max_parallel_chunks = 16
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    stop_the_clock(monkeypatch)
    # On a busy machine any plan takes longer than a second, and would say that it is asking.
    monkeypatch.setattr("hakiri.cli.progress.SHOWN_AFTER_SECONDS", 60.0)
    return Shop.make(tmp_path)


def pulled(shop: Shop) -> None:
    """The thousand orders were pulled two hours ago."""
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})


def digest_of(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.spec("HP-030")
@pytest.mark.spec("HP-032")
def test_a_new_pipeline_is_shown_with_what_would_come(run: Run, shop: Shop) -> None:
    outcome = run("plan")

    assert (outcome.code, outcome.err) == (0, NOTE)
    assert outcome.out == (
        "+ orders  never ran  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    incremental  id\n"
        "    tables       orders  new, 2 columns, about 1,000 rows in 1 chunk\n"
        "\n"
        "Plan for shop: 1 to create.\n"
    )


@pytest.mark.spec("HC-053")
def test_partitions_that_will_be_small_are_warned_of(run: Run, shop: Shop) -> None:
    shop.write(pipeline(table='{ name = "orders", compaction = { partition_by = "total" } }'))

    text, (row,) = run("plan").out, run("plan", "--json").data["pipelines"]

    assert '    warning      table `orders` with `partition_by = "total"`: half of its partitions' in text
    assert text.endswith("Plan for shop: 1 to create; 1 warning.\n")
    (warning,) = row["warnings"]
    assert warning.endswith(
        "half of its partitions will have 16KB or less, and below 16MB a partition costs more than it saves; "
        "take `partition_by` out, and sort by `cluster_by`"
    )


def test_a_layout_that_the_columns_of_the_source_do_not_allow_is_warned_of(run: Run, shop: Shop) -> None:
    layout = 'partition_by = "month(total)", cluster_by = ["not_yet"]'
    shop.write(pipeline(table=f'{{ name = "orders", compaction = {{ {layout} }} }}'))

    (row,) = run("plan", "--json").data["pipelines"]

    assert row["warnings"][-1] == (
        "table `orders` will not be compacted, because it cannot be partitioned by column `total`: "
        "`month(total)` needs dates or moments, and its values are of type double; change `partition_by`"
    )
    assert "not_yet" not in str(row["warnings"])


@pytest.mark.spec("HP-112")
@pytest.mark.spec("HP-113")
@pytest.mark.spec("HP-138")
def test_every_knob_in_force_is_shown_with_who_decided_it(run: Run, shop: Shop) -> None:
    CountedSource.make(shop.root).put(moments(45))
    shop.write(manifest("monotonic", config=', window = "10d"', more=ALL_KNOBS))

    outcome = run("plan")

    assert outcome.out == (
        "+ p  never ran  (hakiri.toml:4)\n"
        "    source       counted → context\n"
        "    tables       items → counted_items  new, 4 columns, about 32 rows in 3 chunks\n"
        "    knobs        window                      30d         manifest\n"
        "                 parallelism                 4           manifest\n"
        "                 rate_budget                 60/min      manifest\n"
        "                 start_from                  2024-01-15  manifest\n"
        "                 max_chunks_per_tick         8           manifest\n"
        "                 destination_writes_per_sec  2.5         manifest\n"
        "                 max_parallel_chunks         16          manifest\n"
        "\n"
        "Plan for shop: 1 to create.\n"
    )


@pytest.mark.spec("HP-112")
def test_what_the_manifest_leaves_out_comes_from_the_connector(run: Run, shop: Shop) -> None:
    CountedSource.make(shop.root).put(moments(45))
    shop.write(
        manifest("monotonic", config=', window = "10d"', more="[pipeline.backfill]\nparallelism = 4\n")
    )

    (row,) = run("plan", "--json").data["pipelines"]

    assert row["tables"][0]["knobs"] == {
        "window": {"value": "10d", "origin": "connector"},
        "parallelism": {"value": "4", "origin": "manifest"},
    }


@pytest.mark.spec("HP-116")
def test_more_chunks_at_once_than_the_source_allows_are_warned_of(run: Run, shop: Shop) -> None:
    CountedSource.make(shop.root).put(moments(9, parts=3))
    shop.write(manifest("partitioned-monotonic", more="[pipeline.backfill]\nparallelism = 8\n"))

    outcome = run("plan")

    assert outcome.code == 0
    assert outcome.out == (
        "+ p  never ran  (hakiri.toml:4)\n"
        "    source       counted → context\n"
        "    tables       items → counted_items  new, 4 columns, about 9 rows in 3 chunks\n"
        "    knobs        parallelism  8  manifest\n"
        "    warning      `parallelism` is 8, but table `counted_items` has 3 partitions: chunks of the "
        "same one will be read at the same time; set `parallelism` to 3\n"
        "\n"
        "Plan for shop: 1 to create; 1 warning.\n"
    )


@pytest.mark.spec("HP-031")
def test_schema_changes_are_shown_with_the_rule_that_applies(run: Run, shop: Shop) -> None:
    shop.write(pipeline(more='incremental = "id"\nschedule = "every 1h"\n'))
    with shop.past(T0) as past:
        past.began(
            "orders",
            window(),
            schema=pa.schema([("id", pa.int64()), ("total", pa.float64()), ("old", pa.string())]),
        )
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.do("ALTER TABLE orders ADD COLUMN country TEXT")
    shop.do("INSERT INTO orders VALUES (1001, 1.0, 'DE')")

    outcome = run("plan")

    assert outcome.out == (
        "> orders  its schedule has come  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    schedule     every hour\n"
        "    incremental  id\n"
        "    tables       orders  about 1 row in 1 chunk\n"
        "                   - column `old` dropped at the source: it stays, and new rows have NULL there\n"
        "                   + column `country` added as string: it is appended, and rows from before have"
        " NULL there\n"
        "\n"
        "Plan for shop: 1 to pull.\n"
    )


def test_a_refused_change_is_told(run: Run, shop: Shop) -> None:
    shop.write(pipeline(table='{ name = "orders", contract = "freeze" }'))
    pulled(shop)
    shop.do("ALTER TABLE orders ADD COLUMN country TEXT", "INSERT INTO orders VALUES (1001, 1.0, 'DE')")

    outcome = run("plan")

    (line,) = [line for line in outcome.out.splitlines() if "refused" in line]
    assert line.startswith("                   ! refused: column `country` added as string: ")
    assert "hint: " in outcome.out
    assert outcome.out.endswith("Plan for shop: 1 to pull; 1 problem.\n")
    (row,) = outcome_changes(run)
    assert (row["fate"], row["column"]) == ("refused", "country")


def outcome_changes(run: Run) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = run("plan", "--json").data["pipelines"][0]["tables"][0]["changes"]
    return changes


def test_a_column_that_the_contract_leaves_out_is_told(run: Run, shop: Shop) -> None:
    shop.write(pipeline(table='{ name = "orders", contract = "discard" }'))
    pulled(shop)
    shop.do("ALTER TABLE orders ADD COLUMN country TEXT", "INSERT INTO orders VALUES (1001, 1.0, 'DE')")

    assert "                   - left out: column `country` added as string" in run("plan").out
    assert [row["fate"] for row in outcome_changes(run)] == ["ignored"]


@pytest.mark.spec("HP-042")
def test_an_edit_is_shown_key_by_key(run: Run, shop: Shop) -> None:
    shop.write(pipeline(more='incremental = "id"\nschedule = "every 1d"\nretries = 3\n'))
    pulled(shop)
    shop.write(pipeline(more='incremental = "id"\nschedule = "every 2d"\nreferences = { c = "c.csv" }\n'))

    outcome = run("plan")

    assert outcome.out == (
        "~ orders  changed since it was applied  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    schedule     every 2 days\n"
        "    incremental  id\n"
        "    tables       orders  no new rows\n"
        '    edited       + references = {"c": "c.csv"}\n'
        "                 - retries = 3\n"
        "                 ~ schedule: every 1d → every 2d\n"
        "\n"
        "Plan for shop: 1 to update.\n"
    )


def test_an_edit_and_a_schedule_that_has_come_are_one_run_with_what_is_new(run: Run, shop: Shop) -> None:
    shop.write(pipeline(more='incremental = "id"\nschedule = "every 1h"\n'))
    pulled(shop)
    shop.write(pipeline(more='incremental = "id"\nschedule = "every 30m"\n'))
    shop.put(25, first=1001)

    outcome = run("plan")

    assert outcome.out == (
        "~ orders  changed since it was applied, and its schedule has come  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    schedule     every 30 minutes\n"
        "    incremental  id\n"
        "    tables       orders  about 25 rows in 1 chunk\n"
        "    edited       ~ schedule: every 1h → every 30m\n"
        "\n"
        "Plan for shop: 1 to update.\n"
    )


def renamed(shop: Shop, *, primary_key: tuple[str, ...] = ()) -> None:
    """The pipeline got another id after it had run, and was applied under it."""
    shop.write(pipeline("former"))
    with shop.past(T0) as past:
        past.began("former", window(), primary_key=primary_key)
        past.finished("former", rows=1000, cursor={"id": 1000})
    shop.write(pipeline())
    with shop.past(T0) as past:
        past.runs = 1
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
        past.catalog.pipelines.retire(PipelineId("former"), past.at)


def test_rows_that_a_pipeline_left_in_a_table_without_a_key_are_warned_of(run: Run, shop: Shop) -> None:
    renamed(shop)

    outcome = run("plan", "--offline")

    assert outcome.out == (
        "= orders  up to date  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    incremental  id\n"
        "    tables       orders\n"
        "    warning      table `orders` has no primary key and still has the rows of `former`, which the "
        "manifest does not declare any more, and no command takes them out; name a key with `primary_key`, "
        "so that the newest row of each is seen, or pull into another table with `as`\n"
        "\n"
        "Plan for shop: 1 up to date; 1 warning.\n"
    )
    (row,) = run("plan", "--json", "--offline").data["pipelines"]
    assert len(row["warnings"]) == 1
    assert run("plan", "--detailed-exitcode", "--offline").code == 0


def test_rows_that_a_pipeline_left_in_a_table_with_a_key_are_no_matter(run: Run, shop: Shop) -> None:
    renamed(shop, primary_key=("id",))

    assert run("plan", "--offline").out == "Plan for shop: 1 up to date.\n"


def test_an_empty_table_without_a_key_may_be_read_by_several_at_once(run: Run, shop: Shop) -> None:
    shop.do("CREATE TABLE visits (at TEXT, page TEXT)")
    shop.write(pipeline(table='"visits"', more='incremental = "at"\n[pipeline.backfill]\nparallelism = 4\n'))

    outcome = run("plan")

    assert "    tables       visits  new, 2 columns, " in outcome.out
    assert outcome.out.endswith("Plan for shop: 1 to create.\n")


def test_what_is_up_to_date_is_only_counted(run: Run, shop: Shop) -> None:
    pulled(shop)

    outcome = run("plan")

    assert (outcome.code, outcome.out, outcome.err) == (
        0,
        "Plan for shop: 1 up to date.\n",
        "Nothing to do.\n",
    )
    assert run("plan", "--detailed-exitcode").code == 0


def test_a_history_that_was_broken_off_is_to_be_continued(run: Run, shop: Shop) -> None:
    with shop.past(T0) as past:
        past.began("orders", window(None, 501), window(501, 1001), window(1001))
        past.did("orders", past.started("orders"), rows=500)

    outcome = run("plan")

    assert outcome.out.splitlines()[0] == "> orders  2 chunks left  (hakiri.toml:4)"
    assert "    tables       orders  about 500 rows in 2 chunks\n" in outcome.out
    assert outcome.out.endswith("Plan for shop: 1 to continue.\n")


def test_a_failed_pipeline_says_why_and_how_to_decide(run: Run, shop: Shop) -> None:
    with shop.past(T0) as past:
        past.began("orders", window())
        attempt = past.started("orders")
        past.chunk_failed("orders", attempt, "sources.unauthorized", "the source answered 401")
        past.failed("orders", attempt, "sources.unauthorized", "the source answered 401")

    outcome = run("plan", "--offline")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "! orders  it failed and waits for a decision  (hakiri.toml:4)\n"
        "    source       sql → context\n"
        "    incremental  id\n"
        "    tables       orders\n"
        "    problem      pipeline `orders` failed and waits for a decision: the source answered 401\n"
        "                 hint: `hakiri retry orders` to try again, `hakiri skip orders` to leave out what"
        " failed\n"
        "\n"
        "Plan for shop: 1 waiting for a decision.\n"
    )


def test_a_pipeline_that_left_the_manifest_is_shown(run: Run, shop: Shop) -> None:
    pulled(shop)
    shop.write("")

    outcome = run("plan")

    assert outcome.out == "- orders  it left the manifest; its tables stay\n\nPlan for shop: 1 to remove.\n"


def test_a_table_that_is_read_as_a_whole_says_so(run: Run, shop: Shop) -> None:
    shop.write(pipeline(more='schedule = "every 1h"\n'))
    pulled(shop)

    assert "    tables       orders  all of about 1,000 rows again in 1 chunk\n" in run("plan").out


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_source_that_cannot_be_asked_is_a_problem_and_no_failure(
    run: Run, shop: Shop, more: tuple[str, ...]
) -> None:
    nowhere = pipeline("away", table='"t"').replace("sqlite:///shop.db", "sqlite:///nowhere.db")
    shop.write(pipeline() + nowhere)

    outcome = run("plan", *more)

    assert outcome.code == 0
    assert "Traceback" not in outcome.out + outcome.err
    if more:
        away, orders = outcome.data["pipelines"]
        assert (orders["problems"], orders["tables"][0]["rows"]) == ([], 1000)
        assert (away["problems"][0]["code"], away["tables"]) == ("sources.permanent", [])
    else:
        assert "    problem      " in outcome.out
        assert "nowhere.db" in outcome.out
        assert outcome.out.endswith("Plan for shop: 2 to create; 1 problem.\n")


def test_a_destination_that_nobody_knows_is_a_problem_of_the_plan(run: Run, shop: Shop) -> None:
    shop.write(pipeline(more='destination = { connector = "contxt" }\n'))

    outcome = run("plan", "--offline")

    assert outcome.code == 0
    assert (
        "    problem      pipeline `orders` is to write to `contxt`, and there is no such destination\n"
        "                 --> hakiri.toml:8\n"
        "                 hint: did you mean `context`?\n"
    ) in outcome.out


def test_a_stale_transform_is_a_problem_of_its_pipeline_alone(run: Run, shop: Shop) -> None:
    run("init", "demo", "--quiet")
    folder = shop.root / "demo"
    author = folder / "transforms" / "orders.py"
    author.write_text(author.read_text() + "# a change\n")

    outcome = run("-C", "demo", "plan", "--offline")

    assert outcome.code == 0
    assert (
        "    problem      the compiled transform of pipeline `orders` is older than transforms/orders.py\n"
        "                 --> pipelines/orders.transforms.json\n"
        "                 hint: run `hakiri compile`, and commit the file it writes\n"
    ) in outcome.out


def test_offline_asks_no_source(run: Run, shop: Shop) -> None:
    source = CountedSource.make(shop.root)
    shop.write(manifest("monotonic"))
    (shop.root / "counted.db").unlink()

    outcome = run("plan", "--offline", "--json")

    (row,) = outcome.data["pipelines"]
    assert (row["action"], row["tables"], row["problems"], source.reads()) == ("create", [], [], [])


@pytest.mark.spec("HP-033")
def test_the_plan_as_json_is_the_same_as_data(run: Run, shop: Shop) -> None:
    outcome = run("plan", "orders", "--json")

    assert (outcome.code, outcome.err) == (0, "")
    validate("plan", outcome)
    assert outcome.data == {
        "schema_version": 1,
        "project": "shop",
        "has_changes": True,
        "counts": {
            "create": 1,
            "continue": 0,
            "update": 0,
            "pull": 0,
            "nothing": 0,
            "wait": 0,
            "remove": 0,
        },
        "pipelines": [
            {
                "id": "orders",
                "action": "create",
                "why": "never ran",
                "connector": "sql",
                "destination": "context",
                "schedule": None,
                "place": {"file": "hakiri.toml", "line": 4},
                "chunks_left": 0,
                "tables": [
                    {
                        "name": "orders",
                        "store": "orders",
                        "rows": 1000,
                        "chunks": 1,
                        "is_reread": False,
                        "changes": [
                            {
                                "kind": "create",
                                "column": "",
                                "before": None,
                                "after": "2 columns",
                                "rule": "the table is new",
                                "fate": "applied",
                            }
                        ],
                        "knobs": {},
                    }
                ],
                "edits": [],
                "warnings": [],
                "problems": [],
            }
        ],
    }


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_changes_are_an_exit_code_only_when_asked_for(run: Run, shop: Shop, more: tuple[str, ...]) -> None:
    assert run("plan", *more).code == 0
    assert run("plan", "--detailed-exitcode", *more).code == 3


def test_an_empty_project_has_no_changes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "shop"\n')

    outcome = run("plan", "--detailed-exitcode")

    assert (outcome.code, outcome.out, outcome.err) == (0, "Plan for shop: no pipelines.\n", "")


def test_every_problem_of_a_bad_manifest_is_told_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text(
        '[project]\nname = "shop"\n\n'
        '[[pipeline]]\nid = "orders"\nsource = { connector = "files" }\ntables = []\nshedule = "every 1h"\n'
    )
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "orders.json").write_text('{"id": "orders"}')

    outcome = run("plan", "--detailed-exitcode")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[manifest.empty]: `tables` must not be empty\n"
        "  --> hakiri.toml:7, pipeline[0].tables\n"
        "  hint: list at least one\n"
        "\n"
        "error[manifest.unknown_key]: unknown key `shedule` in pipeline `orders`\n"
        "  --> hakiri.toml:8, pipeline[0].shedule\n"
        "  hint: did you mean `schedule`?\n"
        "\n"
        "error[manifest.missing_key]: missing key `source` in pipeline `orders`\n"
        "  --> pipelines/orders.json:1, source\n"
        '  hint: write it like `"source": {"connector": "github", "config": {"repo": "owner/name"}}`\n'
        "\n"
        "error[manifest.missing_key]: missing key `tables` in pipeline `orders`\n"
        "  --> pipelines/orders.json:1, tables\n"
        '  hint: write it like `"tables": ["issues"]`\n'
        "\n"
        "error[manifest.duplicate_pipeline]: pipeline `orders` defined in two places:\n"
        "  hakiri.toml:4\n"
        "  pipelines/orders.json:1\n"
        "  hint: keep one source of truth; run `hakiri pipeline convert orders --to json` to migrate\n"
    )


def test_an_unknown_pipeline_names_the_nearest(run: Run, shop: Shop) -> None:
    outcome = run("plan", "ordres")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[manifest.unknown_pipeline]: no pipeline has the id `ordres`\nhint: did you mean `orders`?\n"
    )


def test_an_unknown_connector_is_a_mistake_in_the_manifest(run: Run, shop: Shop) -> None:
    shop.write(pipeline().replace('"sql"', '"sqll"'))

    outcome = run("plan")

    assert (outcome.code, outcome.out) == (2, "")
    assert "hint: did you mean `sql`?" in outcome.err


def test_quiet_leaves_the_plan_and_drops_the_note(run: Run, shop: Shop) -> None:
    outcome = run("plan", "-q")

    assert (outcome.out.splitlines()[-1], outcome.err) == ("Plan for shop: 1 to create.", "")


def test_on_a_screen_lines_are_folded_and_stay_below_each_other(shop: Shop) -> None:
    CountedSource.make(shop.root).put(moments(9, parts=3))
    shop.write(
        manifest("partitioned-monotonic", more="[pipeline.backfill]\nparallelism = 8\n")
        + pipeline(more='destination = { connector = "contxt" }\n')
    )
    project = shop.project
    specs = checked_specs(project, None)
    plan = plan_project(
        project,
        specs,
        catalog=None,
        answers=ask_sources(project, specs, {}, FixedClock(NOW)),
        default_destination="context",
        now=NOW,
    )
    with terminal() as screen:
        show_plan(
            Console(out=screen.stream, err=screen.stream, out_has_colors=True, env={"COLUMNS": "60"}), plan
        )
        screen.stream.flush()
        shown = screen.wait_for("shows rows.").replace("\r\n", "\n")

    assert shown == (
        "+ orders  never ran  (hakiri.toml:10)\n"
        "    source       sql → contxt\n"
        "    tables       orders  new, 2 columns, about 1,000 rows in\n"
        "                         1 chunk\n"
        "    problem      pipeline `orders` is to write to `contxt`,\n"
        "                 and there is no such destination\n"
        "                 --> hakiri.toml:14\n"
        "                 hint: did you mean `context`?\n"
        "\n"
        "+ p  never ran  (hakiri.toml:4)\n"
        "    source       counted → context\n"
        "    tables       items → counted_items  new, 4 columns,\n"
        "                                        about 9 rows in 3\n"
        "                                        chunks\n"
        "    knobs        parallelism  8  manifest\n"
        "    warning      `parallelism` is 8, but table\n"
        "                 `counted_items` has 3 partitions: chunks of\n"
        "                 the same one will be read at the same time;\n"
        "                 set `parallelism` to 3\n"
        "\n"
        "Plan for shop: 2 to create; 1 warning, 1 problem.\n"
        "Nothing was changed: `hakiri apply` makes it so, `hakiri preview` shows rows.\n"
    )
    assert "\x1b[33mwarning\x1b[0m" in screen.shown
    assert "\x1b[1;31mproblem\x1b[0m" in screen.shown


@pytest.mark.spec("HP-029")
def test_a_plan_changes_nothing(run: Run, shop: Shop) -> None:
    run("init", "other", "-q")
    before = digest_of(shop.root)

    for words in (("plan",), ("plan", "--json"), ("-C", "other", "plan")):
        run(*words)

    assert digest_of(shop.root) == before


@pytest.mark.parametrize("has_crashed", [False, True], ids=["closed", "after a crash"])
@pytest.mark.spec("HP-029")
def test_a_plan_changes_nothing_in_store_and_catalog(run: Run, shop: Shop, has_crashed: bool) -> None:
    pulled(shop)
    state = shop.root / ".hakiri" / "context" / "shop"
    (state / "tables").mkdir()
    (state / "tables" / "part-00000.parquet").write_bytes(b"rows")
    if has_crashed:
        crash_while_writing(state)
    before = digest_of(shop.root)

    for words in (("plan",), ("plan", "--json"), ("plan", "--offline"), ("plan", "orders")):
        assert run(*words).code == 0

    assert digest_of(shop.root) == before
    assert (state / "meta.sqlite-wal").exists() is has_crashed


def crash_while_writing(state: Path) -> None:
    """Leave the journal of a process that ended without closing the catalog."""
    code = (
        "import os, sqlite3, sys\n"
        "catalog = sqlite3.connect(sys.argv[1])\n"
        "catalog.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "catalog.execute('UPDATE schema_version SET applied_at = applied_at')\n"
        "catalog.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, state / "meta.sqlite"], check=True)


def test_a_plan_needs_no_spark_and_about_a_second(tmp_path: Path) -> None:
    Shop.make(tmp_path, pipeline(table='{ name = "orders", expect = [{ column = "id", not_null = true }] }'))
    pulled(Shop(tmp_path))
    code = "from hakiri.cli import main; import sys; assert main(['plan']) == 0"
    probe = f"{code}; print(sorted(set({HEAVY!r}) & set(sys.modules)))"

    def plan() -> None:
        done = subprocess.run(
            [sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]"

    assert min(effort_of(plan).cpu_seconds for _ in range(3)) < 2.0


def test_the_plan_of_a_hundred_pipelines_takes_seconds(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, "")
    (tmp_path / "data").mkdir()
    text = []
    for number in range(50):
        (tmp_path / "data" / f"{number}.csv").write_text("id,v\n" + "".join(f"{n},x\n" for n in range(100)))
        files = f'{{ connector = "files", config = {{ path = "data/{number}.csv" }} }}'
        text.append(f'[[pipeline]]\nid = "files-{number}"\nsource = {files}\ntables = ["files_{number}"]\n')
        text.append(pipeline(f"sql-{number}", table=f'{{ name = "orders", as = "orders_{number}" }}'))
    shop.write("".join(text))
    with shop.past(T0) as past:
        for number in range(0, 50, 2):
            past.began(f"sql-{number}", window())
            past.finished(f"sql-{number}", rows=1000, cursor={"id": 1000})

    began = time.perf_counter()
    done = subprocess.run(
        [Path(sys.executable).parent / "hakiri", "plan"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("HAKIRI_")},
    )
    took = time.perf_counter() - began

    assert done.stdout.endswith("Plan for shop: 75 to create, 25 up to date.\n")
    assert took < 20.0
