"""Opening a Spark Connect session, with as little of pyspark loaded as that needs."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hakiri.engine.errors import SparkUnreachable
from hakiri.engine.lazy_pandas import pandas_deferred

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_DEFAULT_PORT = 15002
_ISOLATION = "spark.sql.artifact.isolation.enabled"
_REACH_SECONDS = 5.0
_LOCAL_RETRIES = 4  # 50 ms and four times as long each time: about four seconds in all


def load_client() -> None:
    """Import Spark's client: most of a warm command's time, so it is done while a server starts."""
    # pyspark decides at call time, from this variable, whether `functions` speak to a JVM or to Connect.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    # Said beside an exception that says the same: once as a warning, once as a log line with the JVM's stack.
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(logger).disabled = True
    with pandas_deferred():
        import pyspark.errors.utils
        import pyspark.sql.connect.session
    # Remember for every column in which line it was written. Spark asks the session whether to, once and for
    # all when the first column is made, and takes none for no; transforms are compiled without one.
    pyspark.errors.utils._enable_debugging_cache = True  # type: ignore[assignment]  # noqa: SLF001


def connect(address: str, *, shares_workers: bool = False) -> SparkSession:
    """A new session on the server at this address. Sessions of one server share nothing.

    With `shares_workers` they share Python processes, which are warm then. It is for sessions that bring no
    code of their own to a server of ours.
    """
    load_client()
    from pyspark.sql.connect.session import SparkSession

    spark = SparkSession.builder.remote(address).create()
    is_local = urlsplit(address).hostname == "localhost"
    if is_local:
        _make_impatient(spark)
    if shares_workers:
        spark = _sharing_workers(spark)
        if is_local:
            _make_impatient(spark)
    return spark


def _make_impatient(spark: SparkSession) -> None:
    """Spark's own patience, some ten minutes, is meant for networks. A server on this machine that does not
    answer is gone, and the command should say so while somebody still looks at it."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    spark.client.set_retry_policies([DefaultPolicy(max_retries=_LOCAL_RETRIES)])


def _sharing_workers(spark: SparkSession) -> SparkSession:
    """A session in the place of this one, whose Python tasks run where those of all such sessions do.

    Spark starts Python processes for every session anew, three seconds' work, and keeps them until the server
    ends, so that no session sees the files of another. Connect switches that on for all of its sessions, and
    Spark looks at it when a session is first talked to: only a clone can begin with it switched off.
    """
    spark.conf.set(_ISOLATION, "false")
    try:
        return spark.cloneSession()
    finally:
        spark.stop()


def require_listener(address: str) -> None:
    """Fail at once where nobody listens; Spark's client would try again for minutes."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORT
    try:
        socket.create_connection((host, port), _REACH_SECONDS).close()
    except OSError as error:
        raise SparkUnreachable(f"sc://{host}:{port}", error.strerror or str(error)) from error
