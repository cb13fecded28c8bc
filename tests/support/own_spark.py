"""A Spark server for processes that tests start, and how it is kept small."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakiri.core.clock import SystemClock
from hakiri.engine import EngineHome, stop_servers

ENGINE = """
[engine]
master = "local[2]"
driver_memory = "512MiB"
conf = { "spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1" }
"""


@contextmanager
def own_spark(runtime: Path, cache: Path) -> Iterator[dict[str, str]]:
    """The environment of processes that start a server of their own, which is gone afterwards."""
    home = EngineHome(runtime=runtime, cache=cache)
    own = {name: value for name, value in os.environ.items() if not name.startswith("HAKIRI_")}
    yield own | {"HAKIRI_RUNTIME_DIR": str(home.runtime), "HAKIRI_CACHE_DIR": str(home.cache)}
    stop_servers(home, SystemClock(), force=True)
