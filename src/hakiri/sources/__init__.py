"""Where rows come from: the contract of connectors, and those that are built in.

What an author of a connector needs is here. The names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.core.cursors import CursorKind
    from hakiri.sources.config import SecretTemplate, SourceConfig, Template, UrlTemplate
    from hakiri.sources.contract import (
        Batch,
        Connector,
        Context,
        Cursor,
        Extent,
        Hint,
        NativeConnector,
        Read,
        Table,
        Window,
    )
    from hakiri.sources.errors import (
        AuthExpired,
        BadRecord,
        PermanentFailure,
        RateLimited,
        ReadFailed,
        SchemaIncompatible,
        TransientFailure,
    )
    from hakiri.sources.rejects import Reject

_HOMES = {
    **dict.fromkeys(("SecretTemplate", "SourceConfig", "Template", "UrlTemplate"), "hakiri.sources.config"),
    **dict.fromkeys(
        (
            "Batch",
            "Connector",
            "Context",
            "Cursor",
            "Extent",
            "Hint",
            "NativeConnector",
            "Read",
            "Table",
            "Window",
        ),
        "hakiri.sources.contract",
    ),
    **dict.fromkeys(
        (
            "AuthExpired",
            "BadRecord",
            "PermanentFailure",
            "RateLimited",
            "ReadFailed",
            "SchemaIncompatible",
            "TransientFailure",
        ),
        "hakiri.sources.errors",
    ),
    "CursorKind": "hakiri.core.cursors",
    "Reject": "hakiri.sources.rejects",
}

__all__ = [
    "AuthExpired",
    "BadRecord",
    "Batch",
    "Connector",
    "Context",
    "Cursor",
    "CursorKind",
    "Extent",
    "Hint",
    "NativeConnector",
    "PermanentFailure",
    "RateLimited",
    "Read",
    "ReadFailed",
    "Reject",
    "SchemaIncompatible",
    "SecretTemplate",
    "SourceConfig",
    "Table",
    "Template",
    "TransientFailure",
    "UrlTemplate",
    "Window",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
