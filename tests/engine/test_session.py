"""The session door, on the one Spark that the tests share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hakiri.engine import Engine, EngineHome, server_states, session
from hakiri.engine.errors import SparkJobFailed, SparkUnreachable
from hakiri.engine.progress import JobProgress

pytestmark = pytest.mark.spark


class Recorder:
    def __init__(self) -> None:
        self.started: list[bool] = []
        self.looks: list[JobProgress] = []

    def starting(self) -> None:
        pass

    def ready(self, record: object, *, was_started: bool) -> None:
        self.started.append(was_started)

    def progress(self, look: JobProgress) -> None:
        self.looks.append(look)


@pytest.fixture
def engine(spark: Any, shared_engine: Engine) -> Engine:
    """The engine of the shared session, whose server is up by now."""
    return shared_engine


def test_a_second_session_joins_the_server_that_is_up(engine: Engine) -> None:
    watcher = Recorder()

    with session(engine, watcher) as other:
        rows = other.range(3).count()

    assert rows == 3
    assert watcher.started == [False]
    assert len(server_states(engine.home)) == 1


def test_sessions_of_one_server_share_no_views(engine: Engine, spark: Any) -> None:
    with session(engine, Recorder()) as other:
        other.range(1).createOrReplaceTempView("mine_alone")

        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table("mine_alone").count()


def test_progress_is_reported_with_tasks_and_a_last_look(engine: Engine, tmp_path: Path) -> None:
    watcher = Recorder()

    with session(engine, watcher) as own:
        own.range(0, 1_000_000, numPartitions=8).selectExpr("sha2(cast(id as string), 256) h").write.parquet(
            str(tmp_path / "out")
        )

    assert watcher.looks[-1].is_done
    assert max(look.tasks_total for look in watcher.looks) >= 8
    assert 0 < max(look.tasks_done for look in watcher.looks) <= watcher.looks[-1].tasks_total


def test_an_error_of_spark_comes_out_as_ours_with_its_first_line(engine: Engine) -> None:
    with pytest.raises(SparkJobFailed) as failed, session(engine, Recorder()) as own:
        own.sql("SELECT nothing_of_that_name FROM range(1)").collect()

    assert failed.value.condition.startswith("UNRESOLVED_COLUMN")
    assert "nothing_of_that_name" in str(failed.value)
    assert "\n" not in str(failed.value)


def test_an_error_in_the_projects_code_says_what_python_said(engine: Engine) -> None:
    def failing(batches: Any) -> Any:
        raise ValueError("no such customer")
        yield from batches

    with pytest.raises(SparkJobFailed) as failed, session(engine, Recorder()) as own:
        own.range(1).mapInArrow(failing, "id bigint").collect()

    assert str(failed.value) == "the project's Python code failed: ValueError: no such customer"


def test_the_session_runs_in_utc_whatever_the_machine_says(engine: Engine) -> None:
    with session(engine, Recorder()) as own:
        row = own.sql("SELECT current_timezone() AS zone").collect()[0]

    assert row["zone"] == "UTC"


def test_code_of_the_project_can_be_imported_in_a_task(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "doubling.py").write_text("def double(n):\n    return n * 2\n")

    def doubled(batches: Any) -> Any:
        import pyarrow as pa
        from connectors.doubling import double  # type: ignore[import-not-found]

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"n": [double(n) for n in batch.column(0).to_pylist()]})

    with session(engine, Recorder(), project=tmp_path) as own:
        rows = own.range(3).mapInArrow(doubled, "n bigint").collect()

    assert sorted(row["n"] for row in rows) == [0, 2, 4]


def test_two_projects_on_one_server_never_run_each_others_code(engine: Engine, tmp_path: Path) -> None:
    def name_of_project(batches: Any) -> Any:
        import pyarrow as pa
        from connectors.crm import NAME  # type: ignore[import-not-found]

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"name": [NAME]})

    seen = []
    for name in ("one", "two", "one"):  # by turns, while the Python workers of the others are still warm
        folder = tmp_path / name / "connectors"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "crm.py").write_text(f"NAME = {name!r}\n")
        with session(engine, Recorder(), project=tmp_path / name) as own:
            rows = own.range(1).mapInArrow(name_of_project, "name string").collect()
        seen += [row["name"] for row in rows]

    assert seen == ["one", "two", "one"]


def test_sessions_without_code_find_warm_python_and_those_with_code_have_their_own(
    engine: Engine, tmp_path: Path
) -> None:
    def parent(batches: Any) -> Any:
        import os

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"parent": [os.getppid()]})

    (tmp_path / "own" / "connectors").mkdir(parents=True)
    (tmp_path / "own" / "connectors" / "crm.py").write_text("NAME = 'own'\n")
    parents = []
    for project in (None, tmp_path, tmp_path / "own", None):
        with session(engine, Recorder(), project=project) as own:
            parents.append(own.range(1).mapInArrow(parent, "parent bigint").collect()[0]["parent"])

    first, *_, with_code, last = parents
    assert parents == [first, first, with_code, last]
    assert first == last != with_code


def test_a_secret_in_the_environment_reaches_neither_server_nor_tasks(engine: Engine) -> None:
    secret = "s3cret-that-nobody-named"
    engine = Engine(
        config=engine.config,
        home=engine.home,
        env=dict(engine.env) | {"CRM_PASSWORD": secret},
        python=engine.python,
        clock=engine.clock,
    )

    def environment(batches: Any) -> Any:
        import os

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"text": [str(dict(os.environ))]})

    with session(engine, Recorder()) as own:
        seen = own.range(1).mapInArrow(environment, "text string").collect()[0]["text"]

    assert "SPARK_HOME" in seen
    assert secret not in seen
    assert "CRM_PASSWORD" not in seen


def test_pandas_is_loaded_only_when_it_is_used(engine: Engine) -> None:
    script = (
        "import sys\n"
        "from hakiri.engine.connect import connect\n"
        "spark = connect(sys.argv[1])\n"
        "assert spark.range(2).toArrow().num_rows == 2\n"
        "assert 'pandas' not in sys.modules, 'pandas was loaded'\n"
        "import pandas as pd\n"
        "times = pd.DataFrame({'a': pd.to_datetime(['2026-01-01', '2026-01-02'])})\n"
        "assert spark.createDataFrame(times).toPandas()['a'].tolist() == times['a'].tolist()\n"
    )
    state = server_states(engine.home)[0]
    assert state.record is not None

    done = subprocess.run(
        [sys.executable, "-c", script, state.record.address], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_a_server_of_somebody_else_is_reached_by_its_address(engine: Engine, tmp_path: Path) -> None:
    from dataclasses import replace

    state = server_states(engine.home)[0]
    assert state.record is not None
    remote = replace(
        engine,
        config=replace(engine.config, master=state.record.address),
        home=EngineHome(runtime=tmp_path, cache=tmp_path),
    )

    with session(remote, Recorder()) as own:
        assert own.range(5).count() == 5

    assert server_states(remote.home) == []


def test_nobody_at_the_address_is_told_at_once(engine: Engine) -> None:
    from dataclasses import replace

    nobody = replace(engine, config=replace(engine.config, master="sc://127.0.0.1:1/;token=hush"))

    with pytest.raises(SparkUnreachable) as failed, session(nobody, Recorder()):
        pass

    assert str(failed.value) == "no Spark Connect server answers at `sc://127.0.0.1:1`: Connection refused"
