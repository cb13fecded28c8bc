"""The schema of a project in a Postgres database: making it, and its version."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import psycopg
from psycopg import sql

from hakiri.catalog.postgres.connections import Connection, Connections
from hakiri.catalog.postgres.database import PostgresDatabase
from hakiri.catalog.sql.migrations import Migration, missing_after

_LONGEST_NAME = 63  # bytes; Postgres cuts longer names off without a word
_HASH_DIGITS = 12


class PostgresSchema:
    """Where the tables of a catalog are, or will be."""

    def __init__(self, conninfo: str, schema: str, location: str) -> None:
        self.location = location
        self._conninfo = conninfo
        self._schema = schema

    def database(self, *, is_look: bool = False) -> PostgresDatabase:  # reading changes nothing here
        return PostgresDatabase(self._conninfo, self._schema, self.location)

    def version(self) -> int:
        with self._connected() as connection:
            return self._version(connection)

    def apply(self, migrations: tuple[Migration, ...], now: datetime) -> tuple[int, ...]:
        schema = sql.Identifier(self._schema)
        with self._connected() as connection, connection.transaction():
            # Whoever comes second waits here, and then finds nothing left to do.
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"hakiri.migrate.{self._schema}",)
            )
            missing = missing_after(self._version(connection), migrations)
            if missing:
                # `IF NOT EXISTS` asks for the right to make one also when an administrator made it for us.
                if not self._exists(connection):
                    connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
                connection.execute(sql.SQL("SET LOCAL search_path = {}").format(schema))
            for migration in missing:
                connection.execute(migration.script.encode())
                connection.execute(
                    "INSERT INTO schema_version (id, applied_at) VALUES (%s, %s)", (migration.number, now)
                )
        return tuple(migration.number for migration in missing)

    def _exists(self, connection: Connection) -> bool:
        found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,))
        return found.fetchone() is not None

    def _version(self, connection: Connection) -> int:
        table = sql.Identifier(self._schema, "schema_version")
        known = connection.execute("SELECT to_regclass(%s) AS found", (table.as_string(),)).fetchone()
        if known is None or known["found"] is None:
            return 0
        row = connection.execute(
            sql.SQL("SELECT coalesce(max(id), 0) AS version FROM {}").format(table)
        ).fetchone()
        return int(row["version"]) if row else 0

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        connections = Connections(self._conninfo, self.location, os.getpid())
        try:
            with connections.one(os.getpid()) as connection:
                yield connection
        except psycopg.Error as error:
            raise connections.explained(error) from error
        finally:
            connections.forget()


def schema_name(project: str) -> str:
    """The schema of a project: `hakiri_<project>`, with a hash in place of what would be cut off."""
    name = f"hakiri_{project}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(project.encode()).hexdigest()[:_HASH_DIGITS]
    kept = name.encode()[: _LONGEST_NAME - _HASH_DIGITS - 1].decode(errors="ignore")
    return f"{kept}_{digest}"
