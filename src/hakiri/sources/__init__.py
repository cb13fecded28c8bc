"""Where rows come from: the connectors that are built in."""

from hakiri.sources.failures import unreadable_file
from hakiri.sources.read import CONNECTORS, check_source, read_source

__all__ = ["CONNECTORS", "check_source", "read_source", "unreadable_file"]
