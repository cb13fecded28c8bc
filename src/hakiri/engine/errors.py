"""What can go wrong between a command and Spark."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError


class JavaNotFound(HakiriError):
    code = "engine.java_not_found"
    exit_code = ExitCode.USAGE

    def __init__(self, looked_at: tuple[str, ...]) -> None:
        self.looked_at = looked_at
        super().__init__(
            f"Spark needs Java 17 or newer, and none was found ({'; '.join(looked_at)})",
            hint="pip install 'hakiri[java]', or install a JDK and set JAVA_HOME",
        )


class SparkNotInstalled(HakiriError):
    code = "engine.spark_not_installed"

    def __init__(self) -> None:
        super().__init__("pyspark is not installed beside this Python", hint="pip install hakiri")


class BadMaster(HakiriError):
    code = "engine.bad_master"
    exit_code = ExitCode.USAGE

    def __init__(self, master: str) -> None:
        self.master = master
        super().__init__(
            f"`{master}` is not a Spark master",
            hint="use local[*], local[N], spark://host:port, sc://host:port, k8s://… or yarn",
        )


class ReservedConf(HakiriError):
    code = "engine.reserved_conf"
    exit_code = ExitCode.USAGE

    def __init__(self, keys: tuple[str, ...], instead: str) -> None:
        self.keys = keys
        super().__init__(
            f"engine.conf may not set {', '.join(f'`{key}`' for key in keys)}",
            hint=instead,
        )


class UnsafeDirectory(HakiriError):
    """A directory for tokens that somebody else could read or replace."""

    code = "engine.unsafe_directory"
    exit_code = ExitCode.REFUSED

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` cannot hold the engine's tokens: {why}",
            hint="remove it, or set HAKIRI_RUNTIME_DIR to a directory that only you can enter",
        )


class ServerStartFailed(HakiriError):
    code = "engine.start_failed"

    def __init__(self, why: str, log: str, tail: tuple[str, ...] = ()) -> None:
        self.log = log
        self.tail = tail
        last_words = "".join(f"\n  | {line}" for line in tail)
        super().__init__(
            f"Spark did not start: {why}{last_words}", hint=f"read {log}, or run `hakiri doctor`"
        )


class ArchiveNotMade(HakiriError):
    code = "engine.archive_not_made"

    def __init__(self, java_version: str) -> None:
        super().__init__(
            f"Java {java_version} ended without writing the class archive",
            hint="nothing is lost but start-up time; set engine.archive = false to stop trying",
        )


class ServerBusy(HakiriError):
    code = "engine.busy"
    exit_code = ExitCode.REFUSED

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        super().__init__(
            f"Spark is in use by another command (server {', '.join(keys)})",
            hint="wait for it, or stop it all the same with `hakiri engine stop --force`",
        )


class SparkUnreachable(HakiriError):
    code = "engine.unreachable"
    retryable = True

    def __init__(self, address: str, why: str) -> None:
        self.address = address
        super().__init__(
            f"no Spark Connect server answers at `{address}`: {why}",
            hint="check engine.master and that the server is up",
        )


class SparkJobFailed(HakiriError):
    """Spark refused or failed an operation; the message is Spark's own, shortened to its first line."""

    code = "engine.job_failed"

    def __init__(self, condition: str, message: str) -> None:
        self.condition = condition
        super().__init__(message, hint="run again with --verbose for Spark's whole message")


class PythonDied(HakiriError):
    """A Python process of Spark is gone, and the task with it. What the task was to do can be tried again."""

    code = "engine.python_died"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "a Python process of Spark died in the middle of its task",
            hint="a system out of memory ends such processes: see `dmesg`, and have it do less at once",
        )
