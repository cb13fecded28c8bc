"""Where rows come from: the connectors that are built in."""

from hakiri.sources.read import CONNECTORS, read_source

__all__ = ["CONNECTORS", "read_source"]
