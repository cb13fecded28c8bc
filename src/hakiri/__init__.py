"""Declarative data pipelines and context for people and agents, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.store.opened import open_store
    from hakiri.transforms import redact
    from hakiri.transforms.authoring import pipeline

__all__ = ["__version__", "open_store", "pipeline", "redact"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Every command imports this package, and few need what authors write with it.
    if name == "open_store":
        from hakiri.store.opened import open_store

        return open_store
    if name == "pipeline":
        from hakiri.transforms.authoring import pipeline

        return pipeline
    if name == "redact":
        from hakiri.transforms import redact

        return redact
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
