"""How long a person waits for Spark and for the command itself."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.measure import Measured, environment, medians_in_turn, seconds_of

ROUNDS = 3
UNCOUNTED_ROUNDS = 3
WARM_ROUNDS = 9
HELP_ROUNDS = 25

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
    ]
