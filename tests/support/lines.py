"""Catalogs at the other end of a network that fails on order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.grounds import Dump, PostgresGround, history, opened
from tests.support.postgres import PostgresServer
from tests.support.proxy import FaultyProxy

from hakiri.catalog.contract import Catalog

COMMIT = b"COMMIT\0"  # the whole text: BEGIN asks for READ COMMITTED
BEGIN = b"BEGIN"
CONNECTED = b"set_config"  # the first that a new connection is asked
ALWAYS = 10**9


@dataclass(frozen=True, slots=True)
class Line:
    """A catalog through a proxy, the same one without it, and another one in which the same is done."""

    proxy: FaultyProxy
    faulty: PostgresGround
    ground: PostgresGround
    direct: Catalog
    quiet: Catalog
    dump: Callable[[], Dump]
    dump_quiet: Callable[[], Dump]

    def have_the_same_history(self) -> bool:
        return history(self.dump()) == history(self.dump_quiet())


@contextmanager
def new_line(server: PostgresServer) -> Iterator[Line]:
    database = server.create_database()
    ground, quiet = (PostgresGround(server.url(database), schema) for schema in ("faulty", "quiet"))
    ground.migrate()
    quiet.migrate()
    with (
        FaultyProxy(server.tcp_address) as proxy,
        opened(ground) as direct,
        opened(quiet) as quiet_catalog,
        ground.looking() as dump,
        quiet.looking() as dump_quiet,
    ):
        yield Line(
            proxy=proxy,
            faulty=PostgresGround(server.url(database, over=proxy.address), "faulty"),
            ground=ground,
            direct=direct,
            quiet=quiet_catalog,
            dump=dump,
            dump_quiet=dump_quiet,
        )
    server.drop_database(database)
