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


def connect(address: str) -> SparkSession:
    """A new session on the server at this address. Sessions of one server share nothing."""
    load_client()
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    spark = SparkSession.builder.remote(address).create()
    if urlsplit(address).hostname == "localhost":
        # Spark's own patience, some ten minutes, is meant for networks. A server on this machine that
        # does not answer is gone, and the command should say so while somebody still looks at it.
        spark.client.set_retry_policies([DefaultPolicy(max_retries=_LOCAL_RETRIES)])
    return spark


def require_listener(address: str) -> None:
    """Fail at once where nobody listens; Spark's client would try again for minutes."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORT
    try:
        socket.create_connection((host, port), _REACH_SECONDS).close()
    except OSError as error:
        raise SparkUnreachable(f"sc://{host}:{port}", error.strerror or str(error)) from error
