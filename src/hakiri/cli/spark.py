"""What commands need of the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql.connect.session import SparkSession

    from hakiri.cli.app import App
    from hakiri.core.settings import Settings
    from hakiri.engine import Engine


def engine_of(app: App, settings: Settings) -> Engine:
    """The engine that the settings describe."""
    from hakiri.engine import Engine, EngineHome, configured, memory_bytes

    return Engine(
        config=configured(settings.engine, memory_bytes()),
        home=EngineHome.of(app.env),
        env=app.env,
        python=sys.executable,
        clock=app.clock,
    )


@contextmanager
def spark_of(app: App, settings: Settings, *, project: Path | None = None) -> Iterator[SparkSession]:
    """A session whose progress the person sees; the display is gone when the block ends."""
    from hakiri.cli.progress import SparkDisplay
    from hakiri.engine import session

    display = SparkDisplay(app.console)
    try:
        with session(engine_of(app, settings), display, project=project) as spark:
            yield spark
    finally:
        display.close()
