"""A crash at any point of a write: before its COMMIT nothing of it is there, after it everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.support.contract import methods, roles
from tests.support.faults import Crash, FaultyDatabase, points_of
from tests.support.grounds import Ground, PostgresGround, SqliteGround, catalog_on, history, opened
from tests.support.victims import assert_killed, start, write_and_die
from tests.support.writes import REPEATABLE, WRITES, Write

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.proof

READS = {
    "commits",
    "current_id",
    "frontier",
    *("all", "children", "current", "due", "epoch", "files", "find", "get", "latest", "log"),
    *("log_of_pipeline", "page", "parents", "revision", "sidecars", "spec", "tally", "was_delivered"),
    *("abandoned", "all_applied", "applied", "is_planned", "landed", "recent", "version"),
}
BACKENDS = ("sqlite", "postgres")
# Most writes differ in their statements only, and those are shared: on one backend every write is crashed.
CRASHED = [("sqlite", write) for write in WRITES] + [("postgres", write) for write in REPEATABLE]
KILLED = [(backend, write) for backend in BACKENDS for write in REPEATABLE]


def each(cases: list[tuple[str, Write]]) -> pytest.MarkDecorator:
    ids = [f"{backend}-{write.name}" for backend, write in cases]
    return pytest.mark.parametrize(("twins", "write"), cases, indirect=["twins"], ids=ids)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two catalogs in which the same is done; in one of them it crashes at first."""

    crashing: Ground
    quiet: Ground


@pytest.fixture(scope="module")
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    if request.param == "sqlite":
        folder = tmp_path_factory.mktemp("twins")
        yield made(SqliteGround(folder / "crashing.sqlite"), SqliteGround(folder / "quiet.sqlite"))
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    database = server.create_database()
    yield made(
        PostgresGround(server.url(database), "crashing"), PostgresGround(server.url(database), "quiet")
    )
    server.drop_database(database)


def made(crashing: Ground, quiet: Ground) -> Twins:
    crashing.migrate()
    quiet.migrate()
    return Twins(crashing, quiet)


def crash_at_every_point(
    write: Write,
    twins: Twins,
    way: str,
    crash: Callable[[object, int], None],
    repeat: Callable[[object], object],
) -> None:
    """Prepare a stage for each point of the write, and on each let it crash, look, and do it again."""
    with opened(twins.crashing) as catalog, closing(twins.crashing.database()) as database:
        stages = [write.prepare(catalog, f"{way} {write.name} 0")]
        points = points_of(database, lambda dry: write.do(dry, stages[0]))
        stages += [write.prepare(catalog, f"{way} {write.name} {n}") for n in range(1, len(points))]
    with opened(twins.quiet) as quiet:
        for stage in [write.prepare(quiet, f"{way} {write.name} {n}") for n in range(len(points))]:
            write.do(quiet, stage)
    with twins.crashing.looking() as dump, twins.quiet.looking() as dump_quiet:
        before = dump()
        for number, point in enumerate(points[:-1]):
            crash(stages[number], number)
            assert dump() == before, f"crashed at {number}, {point}"
            repeat(stages[number])
            before = dump()
        crash(stages[-1], len(points) - 1)
        after = dump()
        assert history(after) == history(dump_quiet()), "crashed after COMMIT"
        if write in REPEATABLE:
            repeat(stages[-1])
            assert dump() == after, "done again"
    with opened(twins.crashing) as catalog:
        assert catalog.check() == ()


@pytest.mark.spec("AD-005")
@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-011")
@each(CRASHED)
def test_an_exception_at_any_point_of_a_write_leaves_nothing_or_everything(
    write: Write, twins: Twins
) -> None:
    database = FaultyDatabase(twins.crashing.database())
    with catalog_on(database) as catalog:

        def crash(stage: object, number: int) -> None:
            database.fail_at(number)
            with pytest.raises(Crash):
                write.do(catalog, stage)

        crash_at_every_point(write, twins, "exception", crash, lambda stage: write.do(catalog, stage))


@pytest.mark.spec("AD-005")
@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-011")
@pytest.mark.spec("HP-115")
@each(KILLED)
def test_a_process_that_is_killed_at_any_point_of_a_write_leaves_nothing_or_everything(
    write: Write, twins: Twins
) -> None:
    def crash(stage: object, number: int) -> None:
        assert_killed(start(write_and_die, twins.crashing, write.name, stage, number))

    def repeat(stage: object) -> None:
        with opened(twins.crashing) as catalog:
            write.do(catalog, stage)

    crash_at_every_point(write, twins, "kill", crash, repeat)


def test_every_write_of_the_contract_is_crashed() -> None:
    writes = {
        f"{name}.{method}"
        for name, role in roles().items()
        for method in methods(role)
        if method not in READS
    }

    assert {write.name for write in WRITES} == writes | {"number"}
