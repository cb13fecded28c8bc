"""A Postgres that does not let us in: it is told apart from one that is away, and no password is repeated."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote, urlsplit

import pytest
from tests.support.grounds import IMPATIENT, T0, PostgresGround, opened
from tests.support.postgres import PostgresServer
from tests.support.sessions import session_on

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.errors import CatalogDenied

pytestmark = pytest.mark.spec("AD-011")

PASSWORD = "open sesame"
WRONG_PASSWORD = "open barley"
HINT = "check the user and password of `catalog.url` and the rights of that user"


@pytest.fixture
def guest(postgres_ground: PostgresGround) -> Iterator[str]:
    """A user who may use the catalog, and no more."""
    name = f"guest_{token_hex(6)}"
    with session_on(postgres_ground) as session:
        session.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'".encode())
        session.execute(f"GRANT USAGE ON SCHEMA test TO {name}".encode())
        session.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA test TO {name}".encode()
        )
        session.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA test TO {name}".encode())
    yield name
    with session_on(postgres_ground) as session:
        session.execute(f"DROP OWNED BY {name}".encode())
        session.execute(f"DROP ROLE {name}".encode())


def as_user(postgres_ground: PostgresGround, user: str) -> PostgresGround:
    return replace(postgres_ground, url=postgres_ground.url.replace("postgres@", f"{user}@"))


def denied(postgres_ground: PostgresGround) -> CatalogDenied:
    """The error that a new handle ends in."""
    with opened(postgres_ground, IMPATIENT) as catalog, pytest.raises(CatalogDenied) as failed:
        catalog.number("n")
    assert failed.value.hint == HINT
    return failed.value


def test_a_user_with_the_rights_may_write(postgres_ground: PostgresGround, guest: str) -> None:
    with opened(as_user(postgres_ground, guest)) as catalog:
        assert catalog.number("with rights") == 1


def test_an_unknown_user_is_denied(postgres_ground: PostgresGround) -> None:
    error = denied(as_user(postgres_ground, "nobody_known"))

    assert str(error) == f"the catalog `postgresql://test#test` denies access: {error.why}"
    assert error.why.endswith('FATAL:  role "nobody_known" does not exist')


def test_an_unknown_database_is_denied(postgres_ground: PostgresGround) -> None:
    known = urlsplit(postgres_ground.url).path
    error = denied(replace(postgres_ground, url=postgres_ground.url.replace(known, "/nowhere")))

    assert error.why.endswith('FATAL:  database "nowhere" does not exist')


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        ("ALTER ROLE {} NOLOGIN", "is not permitted to log in"),
        ("ALTER ROLE {} CONNECTION LIMIT 0", "too many connections for role"),
        ("REVOKE USAGE ON SCHEMA test FROM {}", "permission denied for schema test"),
        ("REVOKE INSERT ON test.counter FROM {}", "permission denied for table counter"),
        ("REVOKE INSERT ON test.receipt FROM {}", "permission denied for table receipt"),
    ],
)
def test_a_user_without_a_right_is_denied(
    postgres_ground: PostgresGround, guest: str, taken: str, why: str
) -> None:
    with session_on(postgres_ground) as session:
        session.execute(taken.format(guest).encode())

    assert why in denied(as_user(postgres_ground, guest)).why


@contextmanager
def asking_for_passwords(server: PostgresServer, database: str, user: str) -> Iterator[None]:
    """Do not trust a user of a database without a password any more, when he comes by the port."""
    rules = server.folder / "data" / "pg_hba.conf"
    trusting = rules.read_text()
    rules.write_text(f"host {database} {user} 127.0.0.1/32 scram-sha-256\n{trusting}")
    server.restart()
    yield
    rules.write_text(trusting)
    server.restart()


def test_a_wrong_password_is_denied_and_not_repeated(
    postgres_ground: PostgresGround, postgres_server: PostgresServer, guest: str
) -> None:
    database = urlsplit(postgres_ground.url).path[1:]
    port = postgres_server.tcp_address[1]

    def opened_with(password: str) -> Catalog:
        user = f"{guest}:{quote(password)}"
        url = f"postgresql://{user}@127.0.0.1:{port}/{database}?schema=test"
        return open_catalog(url, project="shop", base=Path("/"), now=T0)

    with asking_for_passwords(postgres_server, database, guest):
        with pytest.raises(CatalogDenied) as failed:
            opened_with(WRONG_PASSWORD)
        with opened_with(PASSWORD) as catalog:
            assert catalog.number("password") == 1

    location = f"postgresql://127.0.0.1:{port}/{database}#test"
    assert str(failed.value) == f"the catalog `{location}` denies access: {failed.value.why}"
    assert failed.value.why.endswith(f'FATAL:  password authentication failed for user "{guest}"')
    assert WRONG_PASSWORD not in "".join(traceback.format_exception(failed.value))


def test_too_few_connections_for_all_are_shared_in_turn(postgres_ground: PostgresGround, guest: str) -> None:
    with session_on(postgres_ground) as session:
        session.execute(f"ALTER ROLE {guest} CONNECTION LIMIT 2".encode())

    with opened(as_user(postgres_ground, guest)) as catalog, ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: catalog.number("shared"), range(40)))

    assert sorted(numbers) == list(range(1, 41))
