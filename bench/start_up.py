"""How long a person waits for Spark, for the command itself, and for a question to the store."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from tests.store.workshop import open_workshop

from bench.measure import Measured, environment, medians_in_turn, seconds_of

ROUNDS = 3
UNCOUNTED_ROUNDS = 3
WARM_ROUNDS = 9
HELP_ROUNDS = 25
QUESTION_ROUNDS = 15

JOB = """
spark.range(1000).selectExpr("id", "id * 2 AS twice").write.mode("overwrite").parquet(target)
"""
PYTHON_JOB = """
spark.range(1000).mapInArrow(lambda batches: batches, "id bigint").write.mode("overwrite").parquet(target)
"""
PLAIN = f"""
import sys
from pyspark.sql import SparkSession
target = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
{JOB}
"""
OURS = f"""
import os, sys
from hakiri.core.clock import SystemClock
from hakiri.core.settings import EngineSettings
from hakiri.engine import Engine, EngineHome, configured, memory_bytes, session
class Nobody:
    def starting(self): pass
    def ready(self, record, *, was_started): pass
    def progress(self, look): pass
target = sys.argv[1]
env = dict(os.environ)
engine = Engine(config=configured(EngineSettings(), memory_bytes()), home=EngineHome.of(env), env=env,
                python=sys.executable, clock=SystemClock())
with session(engine, Nobody()) as spark:
    {JOB.strip()}
"""
OURS_IN_PYTHON = OURS.replace(JOB.strip(), PYTHON_JOB.strip())


def run() -> list[Measured]:
    hakiri = str(Path(sys.executable).with_name("hakiri"))
    with tempfile.TemporaryDirectory(prefix="hakiri-bench-") as folder:
        root = Path(folder)
        env = environment(HAKIRI_RUNTIME_DIR=f"{root}/runtime", HAKIRI_CACHE_DIR=f"{root}/cache")
        no_archive = env | {"HAKIRI_CACHE_DIR": f"{root}/empty"}
        stop = [hakiri, "engine", "stop", "--force"]

        def job(script: str, env: dict[str, str]) -> float:
            return seconds_of([sys.executable, "-c", script, f"{root}/out"], env)

        def cold(env: dict[str, str]) -> float:
            seconds = job(OURS, env)
            seconds_of(stop, env)
            return seconds

        try:
            archive = seconds_of([hakiri, "engine", "archive"], env)
            plain, ours, first = medians_in_turn(
                ROUNDS, lambda: job(PLAIN, env), lambda: cold(env), lambda: cold(no_archive)
            )
            for _ in range(UNCOUNTED_ROUNDS):  # the first ones are still on their way from cold to warm
                job(OURS, env)
                job(OURS_IN_PYTHON, env)
            warm, warm_python = medians_in_turn(
                WARM_ROUNDS, lambda: job(OURS, env), lambda: job(OURS_IN_PYTHON, env)
            )
        finally:
            seconds_of(stop, env)
        nothing, help_text = medians_in_turn(
            HELP_ROUNDS,
            lambda: seconds_of([sys.executable, "-c", "pass"], env),
            lambda: seconds_of([hakiri, "--help"], env),
        )
        plain_question, of_tables, of_the_past = _questions(hakiri, root / "shop", env)
    return [
        Measured(name="cold start to first Parquet, plain Spark", value=plain, unit="s"),
        Measured(name="cold start to first Parquet, ours, archive", value=ours, unit="s"),
        Measured(name="cold start to first Parquet, ours, no archive yet", value=first, unit="s"),
        Measured(name="the same job, warm", value=warm, unit="s"),
        Measured(name="… with tasks in Python / without, warm", value=warm_python / warm, unit="", goal=2),
        Measured(name="making the archive, once", value=archive, unit="s"),
        Measured(name="cold, ours / plain Spark", value=ours / plain, unit="", goal=0.5),
        Measured(name="warm / cold start of plain Spark", value=warm / plain, unit="", goal=0.1),
        Measured(name="warm / cold start of ours, archive", value=warm / ours, unit=""),
        Measured(name="warm / cold start of ours, no archive yet", value=warm / first, unit="", goal=0.1),
        Measured(name="hakiri --help / python -c pass", value=help_text / nothing, unit="", goal=8),
        Measured(name='hakiri query "FROM orders"', value=plain_question, unit="s", goal=0.4),
        Measured(name='… "FROM hakiri.tables" / that', value=of_tables / plain_question, unit="", goal=1.6),
        Measured(name='… --at 1s "FROM orders" / that', value=of_the_past / plain_question, unit=""),
    ]


def _questions(hakiri: str, project: Path, env: dict[str, str]) -> list[float]:
    """To a small store: of rows, of what the catalog knows, and of rows as they were."""
    with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
        workshop.land([{"id": 1}], pa.schema([("id", pa.int64())]), "id")
        workshop.publish()
    (project / "hakiri.toml").write_text('[project]\nname = "shop"\n')

    def ask(*words: str) -> float:
        return seconds_of([hakiri, "-C", str(project), "--quiet", "query", *words], env)

    return medians_in_turn(
        QUESTION_ROUNDS,
        lambda: ask("FROM orders"),
        lambda: ask("FROM hakiri.tables"),
        lambda: ask("--at", "1s", "FROM orders"),
    )
