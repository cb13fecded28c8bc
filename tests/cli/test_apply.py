"""`hakiri apply`: what it says and how it ends, without Spark where there is nothing for it to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_schemas import validate
from tests.pipelines.operations.scenes import NOW, T0, half_failed, stop_the_clock, window
from tests.support.effort import effort_of
from tests.support.own_spark import ENGINE
from tests.support.past import CATALOG, Past, Shop, pipeline

from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import Run as CatalogRun
from hakiri.catalog.contract.runs import RunStatus
from hakiri.cli.apply import exit_code_of, summary
from hakiri.core.clock import SystemClock
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import ExitCode, HakiriError, UsageError
from hakiri.core.ids import NodeId, PipelineId, RunId
from hakiri.pipelines.choosing import Applied
from hakiri.pipelines.errors import LeaseHeldElsewhere
from hakiri.pipelines.needs import Need
from hakiri.pipelines.runtime.shop import RunResult

if TYPE_CHECKING:
    from conftest import Run

HAKIRI = Path(sys.executable).parent / "hakiri"
HEAVY = ("pyspark", "pyarrow", "duckdb", "grpc", "pandas", "numpy", "psycopg")
DAILY = pipeline(more='incremental = "id"\nschedule = "every 1d"\n')


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A project whose only pipeline was applied two hours ago, and is due once a day."""
    stop_the_clock(monkeypatch)
    shop = Shop.make(tmp_path, DAILY)
    with shop.past(T0) as past:
        done(past, "orders")
    return shop


def done(past: Past, name: str) -> None:
    past.began(name, window())
    past.finished(name, rows=1000, cursor={"id": 1000})


def files_in(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.spec("HP-038")
def test_a_second_apply_says_that_there_is_nothing_to_do(run: Run, shop: Shop) -> None:
    before = files_in(shop.root)

    outcome = run("apply")

    assert (outcome.code, outcome.out, outcome.err) == (0, "Nothing to do: 1 pipeline is up to date.\n", "")
    assert files_in(shop.root) == before


def test_nothing_to_do_as_json(run: Run, shop: Shop) -> None:
    outcome = run("apply", "orders", "--json")

    assert (outcome.code, outcome.err) == (0, "")
    validate("apply", outcome)
    assert outcome.data == {
        "schema_version": 1,
        "pipelines": [
            {
                "id": "orders",
                "need": "nothing",
                "run": None,
                "status": None,
                "phase": None,
                "rows": 0,
                "bytes": 0,
                "chunks": 0,
                "chunks_left": 0,
                "chunks_elsewhere": 0,
                "quarantined": 0,
                "error_code": None,
                "error": None,
                "hint": None,
                "places": [],
            }
        ],
    }


@pytest.mark.spec("HP-038")
def test_an_apply_with_nothing_to_do_loads_nothing_heavy_and_takes_no_second(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, DAILY)
    with shop.past(SystemClock().now()) as past:
        done(past, "orders")
    code = "from hakiri.cli import main; import sys; assert main(['apply']) == 0"
    probe = f"{code}; print(sorted(set({HEAVY!r}) & set(sys.modules)))"

    def apply() -> None:
        ended = subprocess.run(
            [sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert ended.stdout.splitlines() == ["Nothing to do: 1 pipeline is up to date.", "[]"]

    efforts = [effort_of(apply) for _ in range(5)]

    assert min(effort.cpu_seconds for effort in efforts) < 1.0
    assert min(effort.seconds for effort in efforts) < 5.0


def test_a_source_without_news_is_left_alone(run: Run, shop: Shop) -> None:
    shop.write(pipeline())
    with shop.past(T0) as past:
        past.applied("orders")

    assert run("apply").out == "Nothing to do: 1 pipeline is up to date.\n"


def test_a_project_without_pipelines_has_nothing_to_do(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path, "")

    outcome = run("apply")

    assert (outcome.code, outcome.out) == (0, "Nothing to do: the project has no pipelines.\n")


def test_a_pipeline_that_left_the_manifest_is_noted_by_the_apply(run: Run, shop: Shop) -> None:
    shop.write(
        DAILY + pipeline("gone", table='{ name = "orders", as = "gone" }', more='schedule = "every 1d"\n')
    )
    with shop.past(T0) as past:
        done(past, "gone")
    shop.write(DAILY)
    assert "- gone  it left the manifest; its tables stay\n" in run("plan").out

    outcome = run("apply")

    assert outcome.out == "Nothing to do: 1 pipeline is up to date.\n"
    assert outcome.err == "gone left the manifest and is forgotten; its tables stay\n"
    assert run("plan").out == "Plan for shop: 1 up to date.\n"


@pytest.mark.parametrize("words", [("apply",), ("apply", "orders"), ("run", "orders")])
@pytest.mark.spec("HP-048")
def test_a_failed_pipeline_waits_for_a_decision(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    stop_the_clock(monkeypatch)
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        half_failed(past)

    outcome = run(*words)

    assert (outcome.code, outcome.out) == (1, "1 pipeline did not make it.\n")
    assert outcome.err == (
        "error[pipelines.waits_for_decision]: pipeline `orders` failed and waits for a decision: "
        "the source answered 401\n"
        "hint: `hakiri retry orders` to try again, `hakiri skip orders` to leave out what failed\n"
    )
    (row,) = run(*words, "--json").data["pipelines"]
    assert (row["need"], row["error_code"], row["run"]) == ("waits", "pipelines.waits_for_decision", None)


@pytest.mark.parametrize("command", ["apply", "run"])
def test_an_unknown_pipeline_names_the_nearest(run: Run, shop: Shop, command: str) -> None:
    outcome = run(command, "ordres")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[manifest.unknown_pipeline]: no pipeline has the id `ordres`\nhint: did you mean `orders`?\n"
    )


@pytest.mark.parametrize("words", [("apply",), ("run", "orders")])
def test_a_destination_that_nobody_knows_is_refused_before_anything_is_made(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    Shop.make(tmp_path, pipeline(more='destination = { connector = "contxt" }\n'))

    outcome = run(*words)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[pipelines.unknown_destination]: pipeline `orders` is to write to `contxt`, and there is no "
        "such destination\n"
        "  --> hakiri.toml:8\n"
        "hint: did you mean `context`?\n"
    )
    assert not (tmp_path / CATALOG).exists()


def test_a_stale_transform_is_refused_and_all_are_told(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop", "-q")
    author = tmp_path / "transforms" / "orders.py"
    author.write_text(author.read_text() + "# a change\n")

    outcome = run("apply", "--set", "context.default_destination=lake")

    assert outcome.code == 2
    told = [line.partition(":")[0] for line in outcome.err.splitlines() if line.startswith("error")]
    assert told == ["error[pipelines.unknown_destination]", "error[transforms.stale]"]


@pytest.mark.parametrize("words", [("apply",), ("run", "orders")])
def test_a_pipeline_that_another_worker_holds_is_refused(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    shop = Shop.make(tmp_path)
    now = SystemClock().now()
    with shop.past(now) as past:
        past.began("orders", window(), kind=CursorKind.OPAQUE_TOKEN)
        past.started("orders")

    outcome = run(*words)

    assert outcome.code == 4
    assert outcome.err.endswith(
        "error[pipelines.held_elsewhere]: pipeline `orders` is being run by `node-1`, and only one may run "
        "it\n"
        "hint: wait until it is done; `hakiri status` shows how far it is\n"
    )


@pytest.mark.parametrize(("words", "did"), [(("apply",), "applied"), (("run", "orders"), "ran")])
@pytest.mark.spec("HP-129")
def test_what_another_process_has_under_way_is_told_and_not_claimed(
    run: Run, tmp_path: Path, words: tuple[str, ...], did: str
) -> None:
    shop = Shop.make(tmp_path, pipeline(more='incremental = "id"\n\n[pipeline.backfill]\nparallelism = 1\n'))
    with shop.past(SystemClock().now()) as past:
        past.began("orders", window(None, 500), window(500))
        past.claimed("orders", past.started("orders"))

    outcome = run(*words)

    assert (outcome.code, outcome.out) == (0, f"Nothing {did}: another process is at work on 1 pipeline.\n")
    assert outcome.err.endswith(
        "orders: another process has 1 chunk under way, and 1 more waits; `hakiri status orders` shows how "
        "far it is\n"
    )
    report = run(*words, "--json")
    validate("apply", report)
    (row,) = report.data["pipelines"]
    assert (row["chunks"], row["chunks_left"], row["chunks_elsewhere"]) == (0, 2, 1)


@pytest.mark.parametrize(("table", "more", "line"), [
    ('{ name = "orders", deletes = "missing" }', 'incremental = "id"\n', 7),
    ('"orders"', 'incremental = "day"\n', 4),
    ('"keyless"', "\n[pipeline.backfill]\nparallelism = 4\n", 10),
])  # fmt: skip
def test_a_mistake_has_the_same_place_in_a_plan_and_in_an_apply(
    run: Run, tmp_path: Path, table: str, more: str, line: int
) -> None:
    shop = Shop.make(tmp_path, pipeline(table=table, more=more))
    shop.do("CREATE TABLE keyless (a TEXT)", "INSERT INTO keyless VALUES ('x')")

    (planned,) = run("plan", "--json").data["pipelines"]
    outcome = run("apply", "--json")

    (problem,), (row,) = planned["problems"], outcome.data["pipelines"]
    assert f"  --> hakiri.toml:{line}\n" in outcome.err
    assert (row["error_code"], row["error"]) == (problem["code"], problem["message"])
    assert row["places"] == problem["places"] == [{"file": "hakiri.toml", "line": line}]


def applied(
    error: HakiriError | None = None, *, rows: int | None = None, chunks: int = 1, elsewhere: int = 0
) -> Applied:
    result = None
    if rows is not None:
        result = RunResult(
            pipeline=PipelineId("p"),
            run=CatalogRun(
                run=RunId("run-1"),
                pipeline=PipelineId("p"),
                node=NodeId("n"),
                status=RunStatus.SUCCESS,
                started_at=NOW,
                ended_at=NOW,
                rows=rows,
                bytes=0,
                error_kind=None,
                error_message=None,
                trace=None,
            ),
            phase=Phase.STREAMING,
            chunks=chunks,
            quarantined=0,
            left=ChunkTally(running=elsewhere),
        )
    return Applied(pipeline="p", need=Need.NOTHING, result=result, error=error)


IDLE, DONE = applied(), applied(rows=1200)
FAILED, WRONG = applied(HakiriError("it broke")), applied(UsageError("it is wrong"))
HELD = applied(LeaseHeldElsewhere("p", "node-2"))
LEFT, SHARED = applied(rows=0, chunks=0, elsewhere=2), applied(rows=7, chunks=1, elsewhere=2)


@pytest.mark.parametrize(
    ("all_of_them", "code"),
    [
        ([], ExitCode.DONE),
        ([IDLE, DONE], ExitCode.DONE),
        ([FAILED], ExitCode.FAILED),
        ([WRONG], ExitCode.USAGE),
        ([WRONG, IDLE], ExitCode.USAGE),
        ([HELD], ExitCode.REFUSED),
        ([WRONG, DONE], ExitCode.FAILED),
        ([WRONG, FAILED], ExitCode.FAILED),
        ([HELD, DONE], ExitCode.FAILED),
    ],
)
@pytest.mark.spec("HP-054")
def test_the_exit_code_is_that_of_the_error_if_nothing_else_was_done(
    all_of_them: list[Applied], code: ExitCode
) -> None:
    assert exit_code_of(all_of_them) == code


@pytest.mark.parametrize(
    ("all_of_them", "words"),
    [
        ([IDLE, IDLE], "Nothing to do: 2 pipelines are up to date."),
        ([DONE], "Applied 1 pipeline: 1,200 rows."),
        ([DONE, DONE, IDLE], "Applied 2 pipelines: 2,400 rows; 1 is up to date."),
        (
            [DONE, FAILED, IDLE, IDLE],
            "Applied 1 pipeline: 1,200 rows; 1 pipeline did not make it; 2 are up to date.",
        ),
        ([FAILED, WRONG], "2 pipelines did not make it."),
        ([applied(rows=1)], "Applied 1 pipeline: 1 row."),
        ([LEFT], "Nothing applied: another process is at work on 1 pipeline."),
        ([LEFT, IDLE], "Nothing applied: another process is at work on 1 pipeline; 1 is up to date."),
        ([SHARED], "Applied 1 pipeline: 7 rows."),
        ([DONE, LEFT, LEFT], "Applied 1 pipeline: 1,200 rows; another process is at work on 2 pipelines."),
    ],
)
def test_one_line_says_what_became_of_all(all_of_them: list[Applied], words: str) -> None:
    assert summary(all_of_them) == words


SLOW = """\
import pyarrow as pa
from hakiri.sources import Batch, Connector, Table


class Slow(Connector):
    def discover(self, only=None):
        return [Table(name="t", schema=pa.schema({"id": pa.int64()}), primary_key=("id",))]

    def open(self, read):
        if read.cursor is None:
            ids = pa.array(range(3), pa.int64())
            yield Batch(rows=pa.RecordBatch.from_pydict({"id": ids}), cursor={"n": 3})
        (self.context.root / "reading").write_text("now")
        self.context.wait(3600)
"""


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.spec("HP-034")
@pytest.mark.spec("HP-051")
@pytest.mark.spec("HP-054")
def test_a_project_is_applied_again_run_and_interrupted(tmp_path: Path, spark_env: dict[str, str]) -> None:
    shop = Shop.make(tmp_path, DAILY + ENGINE)

    def hakiri(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HAKIRI, *words], cwd=tmp_path, env=spark_env, capture_output=True, text=True, check=False
        )

    first = hakiri("apply")

    assert (first.returncode, first.stdout) == (0, "Applied 1 pipeline: 1,000 rows.\n"), first.stderr
    assert "✓ orders  1,000 rows in 1 chunk" in first.stderr

    assert hakiri("apply").stdout == "Nothing to do: 1 pipeline is up to date.\n"
    assert hakiri("plan").stdout == "Plan for shop: 1 up to date.\n"

    shop.put(5, first=1001)
    ran = hakiri("run", "orders")

    assert (ran.returncode, ran.stdout) == (0, "Ran 1 pipeline: 5 rows.\n")

    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "slow.py").write_text(SLOW)
    os.mkfifo(tmp_path / "reading")
    shop.write('[[pipeline]]\nid = "slow"\nsource = { connector = "slow" }\ntables = ["t"]\n' + ENGINE)
    process = subprocess.Popen(
        [HAKIRI, "apply"],
        cwd=tmp_path,
        env=spark_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (tmp_path / "reading").read_text() == "now"  # as soon as the connector writes it
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (130, "")
    assert err.endswith("What was committed stays; go on with `hakiri apply`.\ninterrupted\n")
    assert hakiri("status", "slow", "--json").stdout.count('"running": 0') == 1
