"""Another session in the database of a catalog: an administrator's, or one that is in the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from tests.support.grounds import PostgresGround

Session = psycopg.Connection[tuple[Any, ...]]

# When a server's answer is to be an error: at a statement, or at the COMMIT after it.
AT_STATEMENT = "TRIGGER fault BEFORE INSERT ON counter FOR EACH ROW"
AT_COMMIT = "CONSTRAINT TRIGGER fault AFTER INSERT ON counter DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"


@contextmanager
def session_on(ground: PostgresGround) -> Iterator[Session]:
    """A session with the catalog's tables in its path."""
    options = f"-c search_path={ground.schema}"
    with psycopg.connect(ground.url, autocommit=True, options=options) as session:
        yield session


def alter_database(session: Session, change: str) -> None:
    """Change a setting for all sessions to come."""
    name = sql.Identifier(session.info.dbname)
    session.execute(sql.SQL("ALTER DATABASE {} ").format(name) + sql.SQL(change))


def backends(session: Session) -> int:
    """How many connections catalogs have to this database."""
    return number(
        session,
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'hakiri' AND datname = current_database()",
    )


def end_backends(session: Session) -> None:
    """End them, in whatever they do."""
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'hakiri' AND datname = current_database()"
    )


def is_waiting(session: Session, pid: int) -> bool:
    """Whether the session with this process id waits for a lock."""
    return bool(number(session, f"SELECT cardinality(pg_blocking_pids({pid}))"))


def number(session: Session, question: str) -> int:
    """The one number that answers a question."""
    row = session.execute(question.encode()).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def failing(session: Session, code: str, when: str, *, once: bool = False) -> Iterator[None]:
    """Let the server answer whoever asks for the first of some numbers with an error, always or once."""
    session.execute("CREATE SEQUENCE faults")
    condition = "nextval('faults') = 1" if once else "nextval('faults') > 0"
    session.execute(
        f"""CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
              IF {condition} THEN RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'a fault'; END IF;
              RETURN NEW;
            END $$""".encode()
    )
    session.execute(f"CREATE {when} EXECUTE FUNCTION fault()".encode())
    try:
        yield
        assert number(session, "SELECT CAST(is_called AS int) FROM faults") == 1
    finally:
        session.execute("DROP FUNCTION fault CASCADE")
        session.execute("DROP SEQUENCE faults")
