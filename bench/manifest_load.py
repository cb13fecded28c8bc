"""How long a hundred pipelines in a hundred files take to load and validate."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bench.measure import Measured, environment, medians_in_turn, seconds_of

ROUNDS = 9
PIPELINES = 100
LOAD = """
import sys, time
from pathlib import Path
began = time.perf_counter()
from hakiri.manifest import load_project
project = load_project(Path(sys.argv[1]))
assert len(project.pipelines) == 100
if len(sys.argv) > 2:
    again = time.perf_counter()
    load_project(Path(sys.argv[1]))
    Path(sys.argv[2]).write_text(f"{again - began} {time.perf_counter() - again}")
"""


def run() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="hakiri-bench-") as folder:
        root = Path(folder)
        _write_project(root)
        told = root / "told"
        command = [sys.executable, "-c", LOAD, str(root), str(told)]

        def with_imports() -> float:
            seconds_of(command, environment())
            return float(told.read_text().split()[0])

        def alone() -> float:
            return float(told.read_text().split()[1])

        first, second = medians_in_turn(ROUNDS, with_imports, alone)
    return [
        Measured(name="100 pipelines in 100 files, imports included", value=first, unit="s", goal=0.3),
        Measured(name="100 pipelines in 100 files, loaded again", value=second, unit="s"),
    ]


def _write_project(root: Path) -> None:
    (root / "hakiri.toml").write_text('[project]\nname = "many"\nversion = "1.0.0"\n')
    (root / "pipelines").mkdir()
    for number in range(PIPELINES):
        spec = {
            "id": f"pipeline-{number:03d}",
            "source": {"connector": "github", "config": {"repo": f"org/repo-{number}"}},
            "tables": ["issues", {"name": "comments", "primary_key": ["id"]}],
            "schedule": "every 15m",
            "incremental": "updated_at",
            "backfill": {"window": "30d", "parallelism": 4, "rate_budget": "60/min"},
        }
        path = root / "pipelines" / f"{spec['id']}.{'json' if number % 2 else 'toml'}"
        path.write_text(json.dumps(spec) if number % 2 else _toml(number))


def _toml(number: int) -> str:
    return (
        f'id = "pipeline-{number:03d}"\n'
        f'source = {{ connector = "github", config = {{ repo = "org/repo-{number}" }} }}\n'
        'tables = ["issues", { name = "comments", primary_key = ["id"] }]\n'
        'schedule = "every 15m"\nincremental = "updated_at"\n\n'
        '[backfill]\nwindow = "30d"\nparallelism = 4\nrate_budget = "60/min"\n'
    )
