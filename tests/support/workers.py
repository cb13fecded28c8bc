"""Which tests come first, and which worker does them where there are several: `pytest -n auto`.

The hooks of this module are those of `conftest.py`, which takes them from here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

COSTS = ("cluster", "spark", "proof")
# All that shares one Spark is done by one worker, and with more of them the others soon wait for it.
MOST_WORKERS = 4
SPARK = "spark"
CLUSTER = "cluster"
MODESTY = 5
# Spark is given time on a machine that is busy: the limit is for tests that hang.
SPARK_SECONDS = 180
_IS_MODEST = pytest.StashKey[bool]()
_FOLDER = pytest.StashKey[Path]()
_INPUT = "groups"


def has_mark(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) is not None for name in names)


def group_of(item: pytest.Item) -> str:
    """What is done by one worker: all that needs the shared Spark, as two of those fill a small machine; all
    that start Spark processes of their own, and mostly wait for them; or the tests of a file, since they
    share what is costly to make."""
    if has_mark(item, "cluster"):
        return CLUSTER
    if has_mark(item, "spark"):
        return SPARK
    file, _, _ = item.nodeid.partition("::")
    return f"{'proof' if has_mark(item, 'proof') else 'fast'} {file}"


def longest_seconds(item: pytest.Item) -> float:
    """How long a proof may take, if it says so."""
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit and has_mark(item, "proof") else 0.0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fast tests first, so that a mistake shows in seconds; Spark processes of their own last.

    Of several workers one begins with Spark, so that nobody waits for it at the end. The others do the fast
    tests, then what takes long: Spark processes of their own, and of the proofs first those that may take
    longest.
    """
    for item in items:
        if has_mark(item, CLUSTER, SPARK) and not has_mark(item, "timeout"):
            item.add_marker(pytest.mark.timeout(SPARK_SECONDS))
    if hasattr(config, "workerinput"):
        items.sort(
            key=lambda item: (
                group_of(item) != SPARK,
                has_mark(item, "proof"),
                has_mark(item, "cluster"),
                -longest_seconds(item),
            )
        )
    else:
        items.sort(key=costs)


def costs(item: pytest.Item) -> list[bool]:
    return [has_mark(item, mark) for mark in COSTS]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A worker that has no Spark leaves it the processors: it is what the others would wait for."""
    config = item.config
    if hasattr(config, "workerinput") and _IS_MODEST not in config.stash and group_of(item) != SPARK:
        config.stash[_IS_MODEST] = True
        os.nice(MODESTY)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """A worker tells the groups of its tests, before it says that it has found them: whoever distributes them
    knows only their names."""
    told: dict[str, str] | None = getattr(session.config, "workerinput", None)
    if told is not None:
        groups = {item.nodeid: group_of(item) for item in session.items}
        Path(told[_INPUT]).write_text(json.dumps(groups))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since tests wait as often as they compute."""
    return min((os.cpu_count() or 1) + 1, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    config = node.config
    if _FOLDER not in config.stash:
        folder = TemporaryDirectory(prefix="hakiri-groups-")
        config.add_cleanup(folder.cleanup)
        config.stash[_FOLDER] = Path(folder.name)
    node.workerinput[_INPUT] = str(config.stash[_FOLDER] / node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Sends group by group, in the order of their first tests."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        groups: dict[str, str] | None = None

        def _split_scope(self, nodeid: str) -> str:
            if self.groups is None:
                first, *_ = self.registered_collections
                self.groups = json.loads(Path(first.workerinput[_INPUT]).read_text())
            return self.groups[nodeid]

    if config.getoption("dist") != "load":
        return None  # whoever runs the tests wants another way
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)
