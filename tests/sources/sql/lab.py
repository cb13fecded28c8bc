"""A database of one test, and connectors to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.core.secrets import Secret
from hakiri.sources.budget import NoBudget
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Context, Read, Table
from hakiri.sources.sql import SqlConnector
from hakiri.sources.sql.config import SqlConfig


@dataclass(kw_only=True)
class Lab:
    """One database: statements go in by its own client, rows come out by the connector."""

    url: str
    root: Path
    run: Callable[[str], None]
    secrets: dict[str, str] = field(default_factory=dict)

    def connector(self, **config: Any) -> SqlConnector:
        context = Context(
            root=self.root,
            secrets={name: Secret(value) for name, value in self.secrets.items()},
            budget=NoBudget(),
            clock=SystemClock(),
            wait=lambda seconds: None,
        )
        keys = {"url": self.url} | config
        checked = read_config(
            SqlConfig, keys, connector="sql", place=Place("hakiri.toml", 1), secrets=tuple(self.secrets)
        )
        return SqlConnector(checked, context)

    def table(self, name: str, **config: Any) -> Table:
        (table,) = self.connector(**config).discover([name])
        return table

    def batches(self, table: str, config: dict[str, Any] | None = None, **read: Any) -> list[Batch]:
        return list(self.connector(**config or {}).open(Read(table=table, **read)))

    def rows(self, table: str, config: dict[str, Any] | None = None, **read: Any) -> list[dict[str, Any]]:
        batches = self.batches(table, config, **read)
        return [row for batch in batches for row in batch.rows.to_pylist()]
