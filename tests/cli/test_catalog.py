"""`hakiri catalog`: what it says of every state that a catalog can be in."""

from __future__ import annotations

import json
import os
import pwd
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hakiri.catalog import errors, open_catalog
from hakiri.catalog.contract.chunks import ChunkCommit, ChunkError, NewChunk
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.sql.migrations import Migration, migrations_of
from hakiri.catalog.sqlite import place as sqlite_place
from hakiri.cli.promises import PROMISES
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
T0 = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
TTL = timedelta(minutes=10)
ORDERS, REFUNDS = PipelineId("orders"), PipelineId("refunds")
TABLE, NODE = TableName("orders"), NodeId("node-1")
PASSWORD = "hunter2"
LOOKS = (
    *("looking at the database itself …", "looking at pipelines, runs and cursors …"),
    *("looking at schema history …", "looking at chunks …", "looking at the audit log …"),
    *("looking at snapshots …", "looking at revocation epochs …", "looking at the guards of the store …"),
)
KEPT = """\
every promise is kept by the catalog LOCATION
  linearizable-pipelines  the writes to one pipeline happen in one order, the same for every reader
  monotonic-schemas       the schema versions of a table are 1, 2, 3 and so on, and none is ever changed
  chunks-once             an attempt at a chunk belongs to one worker, and one attempt wins
  append-only-lineage     lineage is added and read, never changed or deleted
  atomic-snapshots        a snapshot is seen with every index it names, or not at all
  bounded-revocation      revocation epochs only grow, and a reader knows a new one within a bounded time
"""


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    """Where the catalog of a new project will be."""
    assert run("init", "--name", "shop", "--quiet").code == 0
    return tmp_path / ".hakiri" / "context" / "shop" / "meta.sqlite"


@pytest.fixture
def used_file(file: Path, tmp_path: Path) -> Path:
    """A catalog with two pipelines: one in the middle of its chunks, one that failed."""
    use_catalog(f"sqlite:///{file}", tmp_path)
    return file


def use_catalog(url: str, base: Path) -> None:
    """Let one pipeline get as far as the middle of its chunks, and another fail."""
    with open_catalog(url, project="shop", base=base, now=T0) as catalog:
        catalog.pipelines.declare(ORDERS, CursorKind.MONOTONIC, T0)
        catalog.runs.start(RunId("run-1"), ORDERS, NODE, T0, ttl=TTL)
        catalog.chunks.plan(
            ORDERS, "first", [NewChunk(table=TABLE, predicate=f'{{"day": {day}}}') for day in range(5)], T0
        )
        catalog.pipelines.move(ORDERS, Phase.PLANNING, Phase.BACKFILLING, T0)
        for rows in (10, 20):
            attempt = catalog.queue.claim(ORDERS, RunId("run-1"), NODE, T0, ttl=TTL)
            assert attempt is not None
            edge = Edge(child=RunId("run-1"), parent=RunId("run-0"), kind=EdgeKind.CHUNK, at=T0)
            commit = ChunkCommit(rows=rows, bytes=rows * 100, manifest="{}", cursor="1", edges=(edge,))
            catalog.queue.commit(attempt, commit, T0)
        failing = catalog.queue.claim(ORDERS, RunId("run-1"), NODE, T0, ttl=TTL)
        assert failing is not None
        catalog.queue.give_back(failing, T0, ChunkError(kind="source", message="gone"), retry=False)
        assert catalog.queue.claim(ORDERS, RunId("run-1"), NODE, T0, ttl=TTL) is not None
        catalog.runs.start(RunId("run-2"), REFUNDS, NODE, T0, ttl=TTL)
        outcome = RunOutcome(status=RunStatus.FAILED, error_kind="source", error_message="gone")
        catalog.runs.end(RunId("run-2"), outcome, T0 + timedelta(seconds=90))


def alter(file: Path, *statements: str) -> None:
    """Do by hand what nobody should."""
    with closing(sqlite3.connect(file)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def pages_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def validated(name: str, outcome: Outcome) -> dict[str, object]:
    schema = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    data: dict[str, object] = outcome.data
    return data


@pytest.fixture
def later_migration(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Gives the program, from the call on, one migration more than it has."""

    def add() -> None:
        later = Migration(3, "later", "CREATE TABLE later (id INTEGER PRIMARY KEY);\n")
        monkeypatch.setattr(sqlite_place, "migrations_of", lambda backend: (*migrations_of(backend), later))

    return add


# No catalog yet ---------------------------------------------------------------------------------------------


def test_a_project_without_a_catalog_is_told_how_to_get_one_and_gets_none(
    run: Run, file: Path, tmp_path: Path
) -> None:
    before = pages_of(tmp_path)

    outcome = run("catalog", "status")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        f"catalog  sqlite:///{file}\n"
        "backend  sqlite\n"
        "version  there is no catalog yet; `hakiri catalog migrate` or the first run makes it\n"
    )
    assert pages_of(tmp_path) == before


def test_a_project_without_a_catalog_as_data(run: Run, file: Path) -> None:
    assert validated("catalog-status", run("catalog", "status", "--json")) == {
        "schema_version": 1,
        "backend": "sqlite",
        "location": f"sqlite:///{file}",
        "is_there": False,
        "version": 0,
        "newest_version": 2,
        "pending": [1, 2],
        "divergences": None,
        "pipelines": None,
    }


def test_without_a_catalog_there_is_nothing_to_check(run: Run, file: Path) -> None:
    outcome = run("catalog", "check")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"error[catalog.too_old]: there is no catalog at `sqlite:///{file}` yet\n"
        "hint: run `hakiri catalog migrate`\n"
    )
    assert not file.exists()


@pytest.mark.parametrize("command", ["status", "migrate", "check"])
def test_without_a_project_there_is_no_catalog_to_look_for(run: Run, command: str, tmp_path: Path) -> None:
    outcome = run("catalog", command)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[manifest.no_project]: ")
    assert list(tmp_path.iterdir()) == []


# Migrating --------------------------------------------------------------------------------------------------


def test_migrating_makes_the_catalog_once(run: Run, file: Path) -> None:
    first, second = run("catalog", "migrate"), run("catalog", "migrate")

    assert (first.code, first.err, second.code, second.err) == (0, "", 0, "")
    assert first.out == f"made the catalog sqlite:///{file} with version 2\n"
    assert second.out == f"nothing to do: the catalog sqlite:///{file} has version 2, the newest\n"
    assert file.is_file()


def test_migrating_as_data(run: Run, file: Path) -> None:
    reports = [validated("catalog-migrate", run("catalog", "migrate", "--json")) for _ in range(2)]

    same = {"schema_version": 1, "backend": "sqlite", "location": f"sqlite:///{file}", "version": 2}
    assert reports == [{**same, "taken": [1, 2]}, {**same, "taken": []}]


def test_an_older_catalog_shows_what_is_to_come_until_it_is_migrated(
    run: Run, used_file: Path, later_migration: Callable[[], None]
) -> None:
    later_migration()

    before, checked, migrated = run("catalog", "status"), run("catalog", "check"), run("catalog", "migrate")

    assert (before.code, checked.code, migrated.code) == (0, 2, 0)
    assert before.out == (
        f"catalog  sqlite:///{used_file}\n"
        "backend  sqlite\n"
        "version  2; still to come: 3; `hakiri catalog migrate` or the next run takes them\n"
    )
    assert checked.err == (
        f"error[catalog.too_old]: the catalog `sqlite:///{used_file}` has version 2, and this program needs "
        "version 3\nhint: run `hakiri catalog migrate`\n"
    )
    assert migrated.out == f"brought the catalog sqlite:///{used_file} from version 2 to version 3\n"
    assert run("catalog", "status").out.splitlines()[2] == "version  3, the newest"


def test_an_older_catalog_has_no_summary_as_data(
    run: Run, used_file: Path, later_migration: Callable[[], None]
) -> None:
    later_migration()

    report = validated("catalog-status", run("catalog", "status", "--json"))

    assert (report["is_there"], report["version"], report["newest_version"]) == (True, 2, 3)
    assert (report["pending"], report["divergences"], report["pipelines"]) == ([3], None, None)


@pytest.mark.parametrize("command", ["status", "migrate", "check"])
def test_a_newer_catalog_is_refused(run: Run, used_file: Path, command: str) -> None:
    alter(used_file, "INSERT INTO schema_version (id, applied_at) VALUES (99, '2027')")

    outcome = run("catalog", command)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"error[catalog.too_new]: the catalog `sqlite:///{used_file}` has version 99, and this program knows "
        "versions up to 2\nhint: upgrade with `pip install --upgrade hakiri`\n"
    )


# Status -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-098")
def test_the_status_shows_how_far_each_pipeline_has_come(run: Run, used_file: Path) -> None:
    outcome = run("catalog", "status")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        f"catalog  sqlite:///{used_file}\n"
        "backend  sqlite\n"
        "version  2, the newest\n"
        "\n"
        "pipeline  phase        cursor        done  running  pending  failed  last run (UTC)\n"
        "orders    backfilling  monotonic     2     1        1        1       running 2026-01-31 08:00:00\n"
        "refunds   planning     opaque-token  0     0        0        0       failed 2026-01-31 08:01:30\n"
    )


def test_the_status_as_data_has_all_of_it(run: Run, used_file: Path) -> None:
    report = validated("catalog-status", run("catalog", "status", "--json"))

    none = {"pending": 0, "running": 0, "done": 0, "failed": 0, "skipped": 0, "superseded": 0}
    assert report["pipelines"] == [
        {
            "id": "orders",
            "phase": "backfilling",
            "cursor_kind": "monotonic",
            "chunks": none | {"pending": 1, "running": 1, "done": 2, "failed": 1},
            "rows": 30,
            "bytes": 3000,
            "last_run": {
                "run": "run-1",
                "node": "node-1",
                "status": "running",
                "started_at": "2026-01-31T08:00:00Z",
                "ended_at": None,
                "rows": None,
                "bytes": None,
                "error_kind": None,
                "error_message": None,
            },
        },
        {
            "id": "refunds",
            "phase": "planning",
            "cursor_kind": "opaque-token",
            "chunks": none,
            "rows": 0,
            "bytes": 0,
            "last_run": {
                "run": "run-2",
                "node": "node-1",
                "status": "failed",
                "started_at": "2026-01-31T08:00:00Z",
                "ended_at": "2026-01-31T08:01:30Z",
                "rows": 0,
                "bytes": 0,
                "error_kind": "source",
                "error_message": "gone",
            },
        },
    ]
    assert (report["pending"], report["divergences"]) == ([], [])


def test_a_catalog_that_nobody_used_says_so(run: Run, file: Path) -> None:
    run("catalog", "migrate")

    outcome = run("catalog", "status")

    assert outcome.out.endswith("version  2, the newest\n\nno pipeline has run yet\n")


@pytest.mark.parametrize("command", ["status", "check"])
def test_looking_changes_nothing(run: Run, used_file: Path, command: str) -> None:
    before = pages_of(used_file.parent)

    assert run("catalog", command).code == 0

    assert pages_of(used_file.parent) == before


def test_the_catalog_is_looked_for_where_the_settings_say(run: Run, file: Path, tmp_path: Path) -> None:
    run("catalog", "migrate", "--set", "catalog.url=sqlite:///state/a%20b.sqlite")
    run("catalog", "migrate", "--set", "context.path=100% mine")

    assert (tmp_path / "state" / "a b.sqlite").is_file()
    assert (tmp_path / "100% mine" / "shop" / "meta.sqlite").is_file()
    assert not file.exists()


# Check ------------------------------------------------------------------------------------------------------


def test_a_sound_catalog_keeps_every_promise(run: Run, used_file: Path) -> None:
    outcome = run("catalog", "check")

    assert (outcome.code, outcome.err.splitlines()) == (0, [*LOOKS])
    assert outcome.out == KEPT.replace("LOCATION", f"sqlite:///{used_file}")


def test_a_sound_catalog_as_data(run: Run, used_file: Path) -> None:
    report = validated("catalog-check", run("catalog", "check", "--json", "--quiet"))

    assert (report["is_sound"], report["breaches"]) == (True, [])
    assert report["promises"] == [
        {"promise": promise.value, "words": words, "state": "kept", "reason": ""}
        for promise, words in PROMISES.items()
    ]


@pytest.mark.parametrize(
    ("statements", "breach"),
    [
        (
            ["DROP TRIGGER lineage_fixed"],
            (
                "append-only-lineage",
                "trigger `lineage_fixed`",
                "it is missing or switched off, so the store refuses nothing there",
            ),
        ),
        (
            ["UPDATE pipeline_state SET done = 7 WHERE pipeline_id = 'orders'"],
            ("linearizable-pipelines", "pipeline `orders`", "the counts of its chunks are wrong"),
        ),
    ],
)
def test_a_broken_promise_is_told_with_place_and_finding(
    run: Run, used_file: Path, statements: list[str], breach: tuple[str, str, str]
) -> None:
    alter(used_file, *statements)

    told, data = run("catalog", "check", "--quiet"), run("catalog", "check", "--json", "--quiet")

    assert (told.code, data.code, told.err, data.err) == (1, 1, "", "")
    widths = [len(cell) + 2 for cell in breach[:2]]
    assert told.out == (
        f"{'promise':<{widths[0]}}{'where':<{widths[1]}}found\n"
        f"{breach[0]:<{widths[0]}}{breach[1]:<{widths[1]}}{breach[2]}\n"
    )
    report = validated("catalog-check", data)
    assert report["breaches"] == [dict(zip(("promise", "where", "found"), breach, strict=True))]
    assert report["is_sound"] is False
    states = {row["promise"]: row["state"] for row in report["promises"]}  # type: ignore[attr-defined]
    assert states == {promise.value: "kept" for promise in Invariant} | {breach[0]: "broken"}


def test_several_breaches_are_counted_with_what_to_do(run: Run, used_file: Path) -> None:
    alter(
        used_file,
        "DROP TRIGGER lineage_kept",
        "DROP TRIGGER schema_history_fixed",
        "UPDATE pipeline_state SET pending = 9, row_count = 1",
    )

    outcome = run("catalog", "check")

    assert outcome.code == 1
    assert outcome.out == (
        "promise                 where                           found\n"
        "linearizable-pipelines  pipeline `orders`               the counts of its chunks are wrong\n"
        "linearizable-pipelines  pipeline `refunds`              the counts of its chunks are wrong\n"
        "append-only-lineage     trigger `lineage_kept`          it is missing or switched off, so the store "
        "refuses nothing there\n"
        "monotonic-schemas       trigger `schema_history_fixed`  it is missing or switched off, so the store "
        "refuses nothing there\n"
    )
    assert outcome.err.splitlines() == [
        *LOOKS,
        f"the catalog sqlite:///{used_file} is broken in 4 places",
        "hint: keep a copy of it as it is, stop all runs, and restore the last backup that passes this check",
    ]


def test_a_page_that_a_disk_lost_is_told(run: Run, used_file: Path) -> None:
    with closing(sqlite3.connect(used_file)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'to_delete_due'"
        ).fetchone()
    with used_file.open("r+b") as pages:
        pages.seek((root - 1) * size)
        pages.write(b"\xff" * size)

    outcome = run("catalog", "check", "--quiet")

    assert outcome.code == 1
    assert outcome.out.splitlines()[1].startswith("(the database)  the file  ")
    assert f"age {root}:" in outcome.out  # the words are SQLite's, and its versions say it differently


def test_every_promise_has_words_and_its_own_line_in_the_documentation() -> None:
    page = (DOCS / "catalog.md").read_text("utf-8")

    assert PROMISES.keys() == set(Invariant)
    assert [words for words in PROMISES.values() if words not in page] == []


# What keeps a catalog from being used -----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["status", "migrate", "check"])
def test_a_file_that_is_no_database_is_damaged(run: Run, file: Path, command: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("not a database at all\n" * 100)

    outcome = run("catalog", command)

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"error[catalog.damaged]: the catalog `sqlite:///{file}` is damaged: file is not a database\n"
        "hint: restore it from a backup, or run `hakiri context rebuild-catalog`\n"
    )


@pytest.mark.parametrize("command", ["status", "migrate", "check"])
def test_a_folder_in_the_place_of_the_file_is_told(run: Run, file: Path, command: str) -> None:
    file.mkdir(parents=True)

    outcome = run("catalog", command)

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(
        f"error[catalog.unreachable]: the catalog `sqlite:///{file}` cannot be reached: "
    )


@contextmanager
def someone_else() -> Iterator[None]:
    """Not root, whom no mode of a file holds back."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_project(run: Run) -> Iterator[Path]:
    """A project that everybody can read; the temporary folders of the tests are for their owner only."""
    with tempfile.TemporaryDirectory(prefix="hakiri-catalog-") as name:
        folder = Path(name)
        run("-C", name, "init", "--name", "shop", "--quiet")
        run("-C", name, "catalog", "migrate")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield folder
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


@pytest.mark.parametrize("mode", [0o777, 0o555], ids=["its folder is open", "its folder is not"])
def test_a_file_that_may_only_be_read_is_told_before_a_run(run: Run, open_project: Path, mode: int) -> None:
    asked = ("-C", str(open_project), "doctor", "--no-spark", "--json")
    run(*asked)  # loads what another user may not be able to load
    file = open_project / ".hakiri" / "context" / "shop" / "meta.sqlite"
    file.chmod(0o444)
    file.parent.chmod(mode)

    with someone_else():
        outcome = run(*asked)

    [row] = [row for row in outcome.data["checks"] if row["name"] == "catalog"]
    assert outcome.code == 1
    assert row == {
        "name": "catalog",
        "status": "failed",
        "found": f"the catalog `sqlite:///{file}` cannot be written to",
        "hint": "give this user the right to write it, or run as the user who owns it",
    }


@pytest.mark.parametrize("command", ["status", "migrate", "check"])
def test_a_server_that_is_not_there_is_told_at_once(
    run: Run, file: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKIRI_CATALOG_URL", f"postgresql://ada:{PASSWORD}@127.0.0.1:1/warehouse")
    began = time.monotonic()

    outcome = run("catalog", command)

    assert time.monotonic() - began < 5
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(
        "error[catalog.unreachable]: the catalog `postgresql://127.0.0.1:1/warehouse#hakiri_shop` "
        "cannot be reached: "
    )
    assert "Connection refused" in outcome.err


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{PASSWORD}@127.0.0.1:1/warehouse",
        f"postgresql://127.0.0.1:1/warehouse?user=ada&password={PASSWORD}",
        f"postgresql://127.0.0.1:1/warehouse?sslpassword={PASSWORD}",
        f"postgresql://ada:x@{PASSWORD}@127.0.0.1:1/warehouse",
        f"postgresql://ada:x/{PASSWORD}@127.0.0.1:1/warehouse",
        f"postgresql://ada:{PASSWORD}/x@127.0.0.1:1/warehouse",
        f"postgresql://ada:x?{PASSWORD}@127.0.0.1:1/warehouse",
        f"postgresql://ada:{PASSWORD}%zz@127.0.0.1:1/warehouse",
        f"postgresql://ada:{PASSWORD}@[::1/warehouse",
        f"postgresql://ada:{PASSWORD}@127.0.0.1:port/warehouse",
        f"postgresql://ada:{PASSWORD}@127.0.0.1:1/warehouse?nosuch=1",
        f"mysql://ada:{PASSWORD}@127.0.0.1/warehouse",
        f"ada:{PASSWORD}@127.0.0.1",
    ],
)
@pytest.mark.parametrize("command", [("catalog", "status"), ("catalog", "migrate"), ("doctor", "--no-spark")])
def test_no_output_holds_the_password(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, url: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HAKIRI_CATALOG_URL", url)

    outcomes = [run(*command, *more) for more in ((), ("--json",), ("--verbose",))]

    assert [outcome.code for outcome in outcomes if outcome.code not in (1, 2)] == []
    assert [text for outcome in outcomes for text in (outcome.out, outcome.err) if PASSWORD in text] == []


def test_without_the_driver_of_postgres_the_way_to_get_it_is_told(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("hakiri.catalog.postgres.")]:
        monkeypatch.delitem(sys.modules, name)

    outcome = run("catalog", "status", "--set", "catalog.url=postgresql://127.0.0.1:1/warehouse")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[missing_extra]: a catalog at a `postgresql://` URL needs an optional part\n"
        "hint: pip install 'hakiri[postgres]'\n"
    )


# Postgres ---------------------------------------------------------------------------------------------------


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database of this test, as the settings of the commands have it."""
    database = postgres_server.create_database()
    yield postgres_server.url(database)
    postgres_server.drop_database(database)


@pytest.mark.spec("AD-013")
def test_on_postgres_the_commands_say_the_same(
    run: Run, file: Path, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setenv("HAKIRI_CATALOG_URL", postgres_url)
    none_yet = run("catalog", "status")
    location = none_yet.out.splitlines()[0].removeprefix("catalog  ")

    made = run("catalog", "migrate")
    use_catalog(postgres_url, tmp_path)
    used, sound = run("catalog", "status"), run("catalog", "check", "--quiet")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE hakiri_shop.pipeline_state SET done = 7 WHERE pipeline_id = 'orders'")
        connection.execute("ALTER TABLE hakiri_shop.lineage DISABLE TRIGGER ALL")
    broken = run("catalog", "check", "--quiet")

    assert [each.code for each in (none_yet, made, used, sound, broken)] == [0, 0, 0, 0, 1]
    assert none_yet.out.endswith(
        "backend  postgresql\n"
        "version  there is no catalog yet; `hakiri catalog migrate` or the first run makes it\n"
    )
    assert re.fullmatch(r"postgresql://\S+#hakiri_shop", location)
    assert made.out == f"made the catalog {location} with version 2\n"
    assert used.out == (
        f"catalog  {location}\n"
        "backend  postgresql\n"
        "version  2, the newest\n"
        "\n"
        "pipeline  phase        cursor        done  running  pending  failed  last run (UTC)\n"
        "orders    backfilling  monotonic     2     1        1        1       running 2026-01-31 08:00:00\n"
        "refunds   planning     opaque-token  0     0        0        0       failed 2026-01-31 08:01:30\n"
    )
    assert sound.out == KEPT.replace("LOCATION", location)
    assert {tuple(line.split()[:1]) for line in broken.out.splitlines()[1:]} == {
        ("linearizable-pipelines",),
        ("append-only-lineage",),
    }
    assert not file.exists()


# The documentation ------------------------------------------------------------------------------------------


def test_every_table_is_documented() -> None:
    page = (DOCS / "catalog.md").read_text("utf-8")
    scripts = [
        script.read_text("utf-8")
        for backend in ("sqlite", "postgres")
        for script in files(f"hakiri.catalog.{backend}").joinpath("migrations").iterdir()
    ]
    created = re.compile(r"^CREATE (?:TABLE|VIEW) (\w+)", re.MULTILINE)
    tables = {name for script in scripts for name in created.findall(script)}

    assert "pipeline_chunks" in tables
    assert [name for name in sorted(tables) if f"`{name}`" not in page] == []


def test_every_error_of_the_catalog_is_documented() -> None:
    page = (DOCS / "catalog.md").read_text("utf-8")
    codes = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.CatalogError)
        and kind is not errors.CatalogError
    }

    assert "catalog.too_new" in codes
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
