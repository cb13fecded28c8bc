"""What Postgres itself refuses to raw SQL, by triggers and by rights. The statements are in `raw/`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
import pytest
from tests.support.databases import postgres_database
from tests.support.raw_sql import Attempt, attempts, by_promise, statements

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

REFUSED = attempts("refused.sql", "refused_postgres.sql")
TRIED = [*REFUSED, *attempts("unfit.sql")]
SCHEMA = "hakiri_test"


@pytest.fixture(scope="module")
def filled(postgres_server: PostgresServer) -> Iterator[psycopg.Connection]:
    name = postgres_server.create_database()
    url = postgres_server.url(name)
    postgres_database(url).close()
    with psycopg.connect(url, autocommit=True, options=f"-c search_path={SCHEMA}") as connection:
        for statement in statements("rows.sql"):
            run(connection, statement)
        yield connection
    postgres_server.drop_database(name)


@pytest.fixture
def raw(filled: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection that knows nothing of Hakiri, to a catalog with rows in every table that is watched."""
    with filled.transaction(force_rollback=True):
        yield filled


@pytest.fixture(scope="module")
def owner_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A catalog that belongs to a user who is no superuser, as on a server that is not one's own."""
    name = postgres_server.create_database()
    with psycopg.connect(postgres_server.url(name), autocommit=True) as admin:
        run(admin, f"CREATE ROLE owner_of_{name} LOGIN")
        run(admin, f"GRANT CREATE ON DATABASE {name} TO owner_of_{name}")
    url = postgres_server.url(name, user=f"owner_of_{name}")
    postgres_database(url).close()
    yield url
    postgres_server.drop_database(name)


def run(connection: psycopg.Connection, statement: str) -> psycopg.Cursor[Any]:
    return connection.execute(cast(LiteralString, statement))


def content(raw: psycopg.Connection) -> dict[str, list[Any]]:
    tables = run(raw, f"SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}'").fetchall()
    return {name: sorted(map(repr, run(raw, f"SELECT * FROM {name}"))) for (name,) in tables}


def refusals(raw: psycopg.Connection) -> dict[str, set[str]]:
    """What the triggers that fire before a write say, by their names."""
    texts = run(
        raw,
        "SELECT tgname, pg_get_triggerdef(pg_trigger.oid) || coalesce(prosrc, '')"
        "  FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE NOT tgisinternal",
    )
    found = {
        name: set(re.findall(r"refuse\('([^']+)'\)|MESSAGE = '([^']+)'", text))
        for name, text in texts
        if " BEFORE " in text
    }
    return {name: {said or told for said, told in messages} for name, messages in found.items()}


def refusal(raw: psycopg.Connection, attempt: Attempt) -> str:
    with pytest.raises(psycopg.IntegrityError) as caught, raw.transaction():
        run(raw, attempt.statement)
    return caught.value.diag.message_primary or ""


def refuses(raw: psycopg.Connection, attempt: Attempt) -> None:
    """Fail unless the statement is refused in a way that the catalog knows."""
    before = content(raw)

    with pytest.raises((psycopg.IntegrityError, psycopg.DataError)), raw.transaction():
        run(raw, attempt.statement)

    assert content(raw) == before


@pytest.mark.parametrize("attempt", by_promise(TRIED), ids=str)
def test_the_store_refuses_what_breaks_a_promise(raw: psycopg.Connection, attempt: Attempt) -> None:
    refuses(raw, attempt)


@pytest.mark.parametrize("statement", statements("taken.sql"))
def test_the_store_takes_what_keeps_its_promises(raw: psycopg.Connection, statement: str) -> None:
    before = content(raw)

    run(raw, statement)

    assert content(raw) != before or "DO NOTHING" in statement


def test_every_guard_has_been_tried(raw: psycopg.Connection) -> None:
    said = {refusal(raw, attempt) for attempt in REFUSED}

    untried = {name for name, messages in refusals(raw).items() if not messages <= said}

    assert untried == set()


@pytest.mark.spec("AD-004")
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("lineage", "reason"),
        ("audit", "reason"),
        ("schema_history", "after_json"),
        ("snapshot", "row_count"),
        ("cf_selection_snapshot_files", "file_id"),
    ],
)
@pytest.mark.parametrize(
    "words", ["UPDATE {table} SET {column} = NULL", "DELETE FROM {table}", "TRUNCATE {table}"]
)
def test_not_even_the_owner_has_the_right_when_the_triggers_are_off(
    owner_url: str, table: str, column: str, words: str
) -> None:
    with psycopg.connect(owner_url, autocommit=True, options=f"-c search_path={SCHEMA}") as owner:
        run(owner, f"ALTER TABLE {table} DISABLE TRIGGER USER")

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(owner, words.format(table=table, column=column))


@pytest.mark.spec("AD-003")
def test_the_owner_cannot_turn_the_numbers_of_claims_back(owner_url: str) -> None:
    with psycopg.connect(owner_url, autocommit=True, options=f"-c search_path={SCHEMA}") as owner:
        run(owner, "SELECT nextval('claim_seq')")

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(owner, "SELECT setval('claim_seq', 1)")


@pytest.mark.spec("AD-005")
def test_a_sidecar_waits_for_the_commit_of_its_snapshot_and_is_refused_then(postgres_url: str) -> None:
    postgres_database(postgres_url).close()
    options = f"-c search_path={SCHEMA} -c lock_timeout=50ms"
    with (
        psycopg.connect(postgres_url, options=options) as committing,
        psycopg.connect(postgres_url, options=options, autocommit=True) as rebuilding,
    ):
        for statement in statements("rows.sql"):
            run(committing, statement)
        committing.commit()
        run(
            committing,
            "INSERT INTO snapshot VALUES ('s2', 'v', now(), '[]', 1, '[\"pk\"]', NULL, 0, '', 1, now())",
        )

        with pytest.raises(psycopg.errors.LockNotAvailable):
            run(rebuilding, "UPDATE sidecar SET manifest_hash = 'x' WHERE snapshot_id = 's2'")
        committing.commit()
        with pytest.raises(psycopg.IntegrityError):
            run(rebuilding, "UPDATE sidecar SET manifest_hash = 'x' WHERE snapshot_id = 's2'")
