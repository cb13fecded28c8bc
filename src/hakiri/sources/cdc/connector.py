"""The connector `postgres-cdc`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from hakiri.core.cursors import CursorKind
from hakiri.core.errors import MissingExtra
from hakiri.sources.config import SourceConfig, Template, UrlTemplate, refuse_value
from hakiri.sources.contract import Batch, Connector, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure

if TYPE_CHECKING:
    from hakiri.sources.cdc.server import Server
    from hakiri.sources.cdc.source import Names

_SCHEMES = ("postgresql", "postgres")
_SLOT = re.compile(r"[a-z0-9_]{1,40}")


class PostgresCdcConfig(SourceConfig):
    url: UrlTemplate = Field(
        description="where the server is, as `postgresql://user:${PASSWORD}@host/database`"
    )
    # `schema` is a method of pydantic's models.
    schema_name: str = Field(
        default="public", alias="schema", min_length=1, description="the schema that the tables are in"
    )
    slot: str | None = Field(
        default=None,
        description="how the names of the replication slots begin; `hakiri_<database>` if it is left out",
    )
    publication: str | None = Field(
        default=None,
        min_length=1,
        max_length=63,
        description="a publication that exists and has all the tables; else one is made for each",
    )
    create: bool = Field(
        default=True, description="whether slots and publications that are missing may be made"
    )

    @field_validator("url")
    @classmethod
    def _is_of_postgres(cls, url: Template) -> Template:
        if not url.text.startswith("${") and urlsplit(url.text).scheme not in _SCHEMES:
            refuse_value(
                "is no URL of a Postgres", "write it as in `postgresql://user:${PASSWORD}@host/database`"
            )
        return url

    @field_validator("slot")
    @classmethod
    def _is_allowed(cls, slot: str | None) -> str | None:
        if slot is not None and not _SLOT.fullmatch(slot):
            refuse_value(
                "is no name for a slot",
                "use up to 40 small letters, digits and underscores, as Postgres does",
            )
        return slot


class PostgresCdcConnector(Connector):
    """Reads tables by the server's log: each begins with a snapshot and goes on with every change to it."""

    Config = PostgresCdcConfig
    summary = "Postgres by its log: a snapshot first, then every change, deletes included"

    config: PostgresCdcConfig

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        tables = _work().list_tables(self._server(), self.config.schema_name, only)
        return [table.described() for table in tables]

    def open(self, read: Read) -> Iterator[Batch]:
        if read.window is not None or read.partition or read.snapshot is not None:
            raise PermanentFailure(
                f"table `{read.table}` cannot be read in pieces by the log",
                hint="leave `backfill.window` out, or use the connector `sql`",
            )
        yield from _work().read_table(self._server(), self._names(), read)

    def backfill_hint(self, table: str) -> Hint:
        return Hint(cursor_kind=CursorKind.SNAPSHOT_ID)

    def check(self) -> str:
        said: str = _work().check_source(self._server(), self._names())
        return said

    def _server(self) -> Server:
        from hakiri.sources.cdc.server import Server

        return Server(self.config.url, self.context)

    def _names(self) -> Names:
        from hakiri.sources.cdc.source import Names

        return Names(
            schema=self.config.schema_name,
            slot=self.config.slot,
            publication=self.config.publication,
            may_create=self.config.create,
        )


def _work() -> ModuleType:
    """The part that needs the driver; raises MissingExtra if there is none."""
    try:
        from hakiri.sources.cdc import source
    except ImportError as error:
        if (error.name or "").startswith("hakiri"):
            raise
        raise MissingExtra("connector `postgres-cdc`", extra="postgres") from error
    return source
