"""`postgres-cdc` keeps every promise of a connector."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from tests.support.postgres import PostgresServer

from hakiri.sources.cdc import PostgresCdcConnector
from hakiri.sources.errors import AuthExpired, TransientFailure
from hakiri.sources.testing import ConnectorContract, Subject, maker

Sql = psycopg.Connection[tuple[Any, ...]]
ROWS = {"books": 40_000, "people": 3, "nothing": 0}


@pytest.mark.proof
@pytest.mark.spec("HP-024")
@pytest.mark.spec("HP-025")
@pytest.mark.spec("HP-026")
@pytest.mark.spec("HP-027")
@pytest.mark.spec("HP-111")
class TestPostgresCdc(ConnectorContract):
    @pytest.fixture
    def role(self, sql: Sql, database: str) -> Iterator[str]:
        """A user with no more rights than it needs."""
        role = f"reader_{database}"
        sql.execute(f"CREATE ROLE {role} LOGIN REPLICATION".encode())
        sql.execute(f"GRANT CREATE ON DATABASE {database} TO {role}".encode())
        sql.execute(f"GRANT CREATE ON SCHEMA public TO {role}".encode())
        sql.execute(f"SET ROLE {role}".encode())
        sql.execute("CREATE TABLE books (id int PRIMARY KEY, title text NOT NULL)")
        sql.execute("INSERT INTO books SELECT n, md5(n::text) FROM generate_series(1, 40000) n")
        sql.execute("CREATE TABLE people (born date, name text, PRIMARY KEY (name, born))")
        sql.execute(
            "INSERT INTO people VALUES ('1815-12-10', 'Ada'), ('1906-12-09', 'Grace'), ('1912-06-23', 'Alan')"
        )
        sql.execute("CREATE TABLE nothing (id int PRIMARY KEY)")
        sql.execute("RESET ROLE")
        yield role
        sql.execute(f"DROP OWNED BY {role}".encode())
        sql.execute(f"DROP ROLE {role}".encode())

    @pytest.fixture
    def source(self, logical_server: PostgresServer, database: str, sql: Sql, role: str) -> Subject:
        host, port = logical_server.tcp_address
        url = f"postgresql://{role}:${{PASSWORD}}@{host}:{port}/{database}"
        statements = re.compile(
            rf"^{database} hakiri LOG:  (statement|execute|received replication command)", re.MULTILINE
        )

        def grow(table: str) -> int:
            match table:
                case "books":
                    sql.execute("INSERT INTO books SELECT max(id) + 1, 'one more' FROM books")
                    sql.execute("UPDATE books SET title = 'another' WHERE id = 1")
                    sql.execute("DELETE FROM books WHERE id = 2")
                    return 2
                case "people":
                    sql.execute("UPDATE people SET name = name || '!'")
                    return 3
                case _:
                    sql.execute("INSERT INTO nothing VALUES (1)")
                    return 1

        @contextmanager
        def closed(order: str, undo: str) -> Iterator[None]:
            sql.execute(order.encode())
            sql.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [role])
            try:
                yield
            finally:
                sql.execute(undo.encode())

        limit = f"ALTER DATABASE {database} CONNECTION LIMIT"
        return Subject(
            make=maker(PostgresCdcConnector, {"url": url}, secrets=("PASSWORD",)),
            rows=ROWS,
            secrets={"PASSWORD": "s3cret-marker"},
            grow=grow,
            breakages={
                TransientFailure: lambda: closed(f"{limit} 0", f"{limit} -1"),
                AuthExpired: lambda: closed(f"ALTER ROLE {role} NOLOGIN", f"ALTER ROLE {role} LOGIN"),
            },
            calls=lambda: len(statements.findall(logical_server.log.read_text("utf-8", "replace"))),
        )
