"""The one door to Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hakiri.core.clock import Clock
from hakiri.core.ids import fresh_token
from hakiri.engine.code import USER_FOLDERS, code_archive, code_state, ship_code
from hakiri.engine.config import EngineConfig, MasterKind
from hakiri.engine.connect import connect, load_client, require_listener
from hakiri.engine.errors import PythonDied, SparkJobFailed, SparkUnreachable
from hakiri.engine.home import EngineHome, ServerRecord
from hakiri.engine.java import find_java
from hakiri.engine.launch import ServerPlan, installed_spark, plan_server
from hakiri.engine.progress import JobProgress, ProgressTracker
from hakiri.engine.server import JoinedServer, join_server
from hakiri.engine.words import spark_words

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


_PACKAGE = Path(__file__).resolve().parent.parent
_DIED = "Python worker exited unexpectedly"


class Watcher(Protocol):
    """Whoever shows a person what Spark is doing. Called from the thread that waits for Spark."""

    def starting(self) -> None:
        """A server is being started; the next call comes when it is up."""

    def ready(self, record: ServerRecord | None, *, was_started: bool) -> None:
        """The session is open. There is no record for a server that is not ours."""

    def progress(self, look: JobProgress) -> None:
        """An operation has moved, or is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What a session needs from the outside, resolved once by the door that was opened."""

    config: EngineConfig
    home: EngineHome
    env: Mapping[str, str]
    python: str
    clock: Clock

    def plan(self) -> ServerPlan:
        java = find_java(self.env, setting=self.config.java)
        # Tasks on this machine import us from here, and go on with what they imported first.
        code = code_state(_PACKAGE) if self.config.kind is MasterKind.LOCAL else ""
        return plan_server(self.config, java, installed_spark(self.python), self.env, code=code)


@contextmanager
def session(engine: Engine, watcher: Watcher, *, project: Path | None = None) -> Iterator[SparkSession]:
    """A Spark session on whatever master the settings name, gone when the block ends.

    Leaving by an exception, Ctrl-C included, interrupts what this session runs and nothing else; the
    server stays warm. Spark's own errors come out as SparkJobFailed. With `project`, the code in its
    `connectors/` and `parsers/` can be imported in every task.
    """
    joined: JoinedServer | None = None
    if engine.config.kind.needs_server:
        joined = _join(engine, watcher)
        address = joined.record.address
    else:
        address = engine.config.master
        require_listener(address)
    try:
        archive = _code(engine.config.kind, project)
        spark = connect(address, shares_workers=archive is None)
        tag = f"hakiri-{fresh_token()[:16]}"
        spark.addTag(tag)
        spark.registerProgressHandler(_handler(watcher, engine.clock))
        watcher.ready(joined.record if joined else None, was_started=bool(joined and joined.was_started))
        try:
            if archive is not None:
                _ship(spark, archive)
            yield spark
        except BaseException as error:
            told = as_ours(error, address)
            if not isinstance(told, SparkUnreachable):
                with suppress(Exception):  # the first error is the one to tell
                    spark.interruptTag(tag)
                    spark.stop()
            if told is error:
                raise
            raise told from error
        else:
            spark.stop()
    finally:
        if joined is not None:
            joined.leave()


def _join(engine: Engine, watcher: Watcher) -> JoinedServer:
    def while_starting() -> None:
        watcher.starting()
        load_client()

    return join_server(engine.plan(), engine.home, engine.clock, while_starting=while_starting)


def _handler(watcher: Watcher, clock: Clock) -> Any:
    tracker = ProgressTracker()

    def on_progress(
        stages: Iterable[Any] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,  # noqa: FBT001 - Spark calls it by these names
    ) -> None:
        look = tracker.look(
            operation=operation_id or "",
            stages=stages or (),
            running=inflight_tasks,
            is_done=done,
            now=clock.monotonic(),
        )
        watcher.progress(look)

    return on_progress


def _code(kind: MasterKind, project: Path | None) -> bytes | None:
    """What tasks of a session are to import and would not find where they run."""
    roots = [(project, folder) for folder in USER_FOLDERS] if project is not None else []
    if kind is not MasterKind.LOCAL:
        # Executors elsewhere have Spark and Arrow, but not us.
        roots.append((_PACKAGE.parent, _PACKAGE.name))
    return code_archive(roots)


def _ship(spark: SparkSession, archive: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="hakiri-code-") as workplace:
        ship_code(spark, archive, Path(workplace))


def as_ours(error: BaseException, address: str = "") -> BaseException:
    """Spark's error as ours; whatever is not Spark's stays what it is."""
    from pyspark.errors import PySparkException, PythonException
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    if isinstance(error, SparkConnectGrpcException) and error.getGrpcStatusCode().name == "UNAVAILABLE":
        return SparkUnreachable(address.split("/;", 1)[0] or "the server", "the connection was lost")
    if isinstance(error, PythonException):
        return SparkJobFailed("PYTHON_EXCEPTION", f"the project's Python code failed: {spark_words(error)}")
    if isinstance(error, PySparkException):
        if _DIED in str(error):
            return PythonDied()
        return SparkJobFailed(error.getCondition() or "", spark_words(error))
    return error
