"""Spark: finding Java, starting and reusing the server, the session, progress. Nothing else starts a JVM.

The names are loaded when they are first used, so that a command which never needs Spark never pays for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.engine.address import address_for_tasks
    from hakiri.engine.archive import Archive, archive_for, make_archive
    from hakiri.engine.config import EngineConfig, MasterKind, configured, kind_of_master
    from hakiri.engine.home import EngineHome, ServerRecord
    from hakiri.engine.java import Java, find_java
    from hakiri.engine.launch import installed_spark
    from hakiri.engine.lean_arrow import arrow_without_pandas
    from hakiri.engine.machine import default_heap_mib, memory_bytes
    from hakiri.engine.progress import JobProgress
    from hakiri.engine.server import ServerState, join_server, server_states, stop_servers
    from hakiri.engine.sessions import Engine, Watcher, as_ours, session

_HOMES = {
    "Archive": "archive",
    "Engine": "sessions",
    "EngineConfig": "config",
    "EngineHome": "home",
    "Java": "java",
    "JobProgress": "progress",
    "MasterKind": "config",
    "ServerRecord": "home",
    "ServerState": "server",
    "Watcher": "sessions",
    "address_for_tasks": "address",
    "archive_for": "archive",
    "arrow_without_pandas": "lean_arrow",
    "as_ours": "sessions",
    "configured": "config",
    "default_heap_mib": "machine",
    "find_java": "java",
    "installed_spark": "launch",
    "join_server": "server",
    "kind_of_master": "config",
    "make_archive": "archive",
    "memory_bytes": "machine",
    "server_states": "server",
    "session": "sessions",
    "stop_servers": "server",
}

__all__ = [
    "Archive",
    "Engine",
    "EngineConfig",
    "EngineHome",
    "Java",
    "JobProgress",
    "MasterKind",
    "ServerRecord",
    "ServerState",
    "Watcher",
    "address_for_tasks",
    "archive_for",
    "arrow_without_pandas",
    "as_ours",
    "configured",
    "default_heap_mib",
    "find_java",
    "installed_spark",
    "join_server",
    "kind_of_master",
    "make_archive",
    "memory_bytes",
    "server_states",
    "session",
    "stop_servers",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
