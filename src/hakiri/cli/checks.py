"""The checks of `hakiri doctor`. Each tries the real thing and tells what it found."""

from __future__ import annotations

import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from hakiri.cli.app import MANIFEST_NAME
from hakiri.cli.project import catalog_place_of, project_of, settings_of
from hakiri.cli.spark import engine_of, spark_of
from hakiri.core.errors import HakiriError
from hakiri.core.grammar import format_size
from hakiri.core.settings import resolve_settings

if TYPE_CHECKING:
    from hakiri.catalog.opening import Place as CatalogPlace
    from hakiri.cli.app import App
    from hakiri.core.settings import Settings
    from hakiri.manifest import Project

GIB = 1024**3
LITTLE_MEMORY_BYTES = 4 * GIB
LITTLE_DISK_BYTES = 5 * GIB
TRIED_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found; the hint says what to do where something is wrong."""

    name: str
    status: Literal["ok", "warning", "failed"]
    found: str
    hint: str = ""


def run_checks(app: App, *, with_spark: bool) -> Iterator[Finding]:
    """Every check in order, told as it is done. A check that fails never keeps the next from running."""
    yield Finding(name="python", status="ok", found=f"Python {platform.python_version()}")
    yield _memory()
    try:
        project = project_of(app) if (app.project_dir / MANIFEST_NAME).exists() else None
        settings = settings_of(app, project)
    except HakiriError as error:
        yield _no_settings(error)
        project = None
        settings = _settings_but_for(error, app)
    else:
        yield _manifest(project)
    yield _tried("disk", lambda: _disk(app, settings))
    yield _tried("catalog", lambda: _catalog(app, settings, project))
    java = _tried("java", lambda: _java(app, settings))
    yield java
    if with_spark and java.status != "failed":
        yield from _spark_and_duckdb(app, settings)
    else:
        yield _tried("duckdb", lambda: _duckdb_reads(None))


def _tried(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except HakiriError as error:
        return Finding(name=name, status="failed", found=str(error), hint=error.hint)
    except OSError as error:
        return Finding(name=name, status="failed", found=str(error), hint="check that you may use that path")
    except Exception as error:  # a library that is broken or missing is just what is looked for
        found = f"{type(error).__name__}: {error}".removesuffix(": ")
        return Finding(name=name, status="failed", found=found, hint="install Hakiri anew, or report this")


def _no_settings(error: HakiriError) -> Finding:
    """What keeps the settings from being known: the manifest, or a flag or variable that is wrong."""
    is_manifest = error.code.startswith("manifest.")
    return Finding(
        name="manifest" if is_manifest else "settings",
        status="failed",
        found=str(error),
        hint=f"run `hakiri {'plan' if is_manifest else 'config'}` for all of it",
    )


def _settings_but_for(error: HakiriError, app: App) -> Settings:
    """What the rest is checked with: the settings without the manifest, or the defaults, as far as known."""
    is_manifest = error.code.startswith("manifest.")
    flags, env = (app.flags, app.env) if is_manifest else ({}, {})
    try:
        return resolve_settings(flags=flags, env=env, manifest={}, manifest_places={})
    except HakiriError:
        return resolve_settings(flags={}, env={}, manifest={}, manifest_places={})


def _memory() -> Finding:
    from hakiri.engine import default_heap_mib, memory_bytes

    memory = memory_bytes()
    found = f"{format_size(memory)}, of which Spark takes up to {default_heap_mib(memory)} MiB"
    if memory < LITTLE_MEMORY_BYTES:
        return Finding(name="memory", status="warning", found=found, hint="4 GiB or more are better")
    return Finding(name="memory", status="ok", found=found)


def _manifest(project: Project | None) -> Finding:
    if project is None:
        return Finding(
            name="manifest",
            status="warning",
            found=f"there is no {MANIFEST_NAME} here or above",
            hint="make a project with `hakiri init`, or name its folder with -C",
        )
    count = len(project.pipelines)
    pipelines = "1 pipeline" if count == 1 else f"{count} pipelines"
    return Finding(name="manifest", status="ok", found=f"project `{project.name}` with {pipelines}")


def _disk(app: App, settings: Settings) -> Finding:
    store = _nearest_existing(app.project_dir / settings.context.path)
    try:
        with tempfile.TemporaryFile(dir=store):
            free = shutil.disk_usage(store).free
    except OSError as error:
        return Finding(
            name="disk",
            status="failed",
            found=f"{store} cannot be written to ({error.strerror})",
            hint="set context.path to a folder that you may write to",
        )
    found = f"{format_size(free)} free at {store}, which can be written to"
    if free < LITTLE_DISK_BYTES:
        return Finding(name="disk", status="warning", found=found, hint="make room: Spark spills to disk")
    return Finding(name="disk", status="ok", found=found)


def _catalog(app: App, settings: Settings, project: Project | None) -> Finding:
    """Whether the configured catalog can be used; what keeps it from that is raised as its own error."""
    place = catalog_place_of(app, settings, project)
    version, newest = place.version(), place.newest_version()
    if version == 0:
        return _room_for_a_file(app, place) if place.backend == "sqlite" else _room_on_a_server(place)
    if version < newest:
        return Finding(
            name="catalog",
            status="warning",
            found=f"{place.location} has version {version}, and this program works with version {newest}",
            hint="run `hakiri catalog migrate`, or leave it to the next run",
        )
    with place.open() as catalog:
        count = len(catalog.pipelines.all())
        catalog.garbage.forget((), app.clock.now())  # writes nothing, and needs the right to write for it
    pipelines = "1 pipeline" if count == 1 else f"{count} pipelines"
    return Finding(
        name="catalog",
        status="ok",
        found=f"{place.location}, version {version}, with the state of {pipelines}",
    )


def _room_on_a_server(place: CatalogPlace) -> Finding:
    server = place.location.partition("#")[0]
    return Finding(name="catalog", status="ok", found=f"{server} answers; there is no catalog in it yet")


def _room_for_a_file(app: App, place: CatalogPlace) -> Finding:
    """Try a catalog of our own in the folder where the file will be, or in the nearest above it."""
    from hakiri.catalog import open_catalog

    folder = _nearest_existing(Path(place.location.removeprefix("sqlite:///")).parent)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".hakiri-doctor-") as made:
            mode = _journal_mode(Path(made) / "tried.sqlite")
            url = f"sqlite:///{quote(made)}/meta.sqlite"
            open_catalog(url, project="doctor", base=folder, now=app.clock.now()).close()
    except (OSError, sqlite3.Error) as error:
        mode = str(error.strerror if isinstance(error, OSError) else error)
    if mode != "wal":
        return Finding(
            name="catalog",
            status="failed",
            found=f"SQLite cannot keep a write-ahead log at {folder} ({mode})",
            hint="put the catalog on a local disk that you may write to (context.path or catalog.url)",
        )
    return Finding(
        name="catalog", status="ok", found=f"SQLite {sqlite3.sqlite_version}; there is no catalog yet"
    )


def _journal_mode(file: Path) -> str:
    """The mode that SQLite really took for a new database that was asked for a write-ahead log."""
    database = sqlite3.connect(file)
    try:
        mode = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        database.execute("CREATE TABLE tried (id INTEGER PRIMARY KEY)")
        database.commit()
    finally:
        database.close()
    return str(mode)


def _java(app: App, settings: Settings) -> Finding:
    from hakiri.engine import MasterKind, archive_for

    engine = engine_of(app, settings)
    if engine.config.kind is MasterKind.CONNECT:
        return Finding(name="java", status="ok", found="not needed: Spark runs elsewhere")
    plan = engine.plan()
    java, archive = plan.java, archive_for(plan.java, plan.spark, engine.home)
    made = "the class archive is made" if archive.exists() else "the class archive is not made yet"
    return Finding(
        name="java", status="ok", found=f"Java {java.version} from {java.origin}, {java.executable}; {made}"
    )


def _spark_and_duckdb(app: App, settings: Settings) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="hakiri-doctor-") as folder:
        written = Path(folder) / "rows"
        spark = _tried("spark", lambda: _spark_writes(app, settings, written))
        yield spark
        yield _tried("duckdb", lambda: _duckdb_reads(written if spark.status == "ok" else None))


def _spark_writes(app: App, settings: Settings, target: Path) -> Finding:
    began = app.clock.monotonic()
    with spark_of(app, settings) as spark:
        spark.range(TRIED_ROWS).selectExpr("id", "id * 2 AS twice").write.parquet(str(target))
        version = spark.version
    seconds = app.clock.monotonic() - began
    return Finding(
        name="spark",
        status="ok",
        found=f"Spark {version} on {settings.engine.master} ran a job in {seconds:.1f} s",
    )


def _duckdb_reads(written: Path | None) -> Finding:
    import duckdb

    if written is None or not list(written.glob("*.parquet")):  # Spark failed, or its disk is another one
        duckdb.execute("SELECT 42").fetchall()
        return Finding(name="duckdb", status="ok", found=f"DuckDB {duckdb.__version__} answers")
    rows, total = duckdb.execute(
        "SELECT count(*), sum(twice) FROM read_parquet(?)", [f"{written}/*.parquet"]
    ).fetchall()[0]
    if (rows, total) != (TRIED_ROWS, TRIED_ROWS * (TRIED_ROWS - 1)):
        return Finding(
            name="duckdb",
            status="failed",
            found=f"DuckDB {duckdb.__version__} read {rows} rows where Spark wrote {TRIED_ROWS}",
            hint="report this, with both versions",
        )
    return Finding(
        name="duckdb", status="ok", found=f"DuckDB {duckdb.__version__} reads what Spark wrote, {rows} rows"
    )


def _nearest_existing(path: Path) -> Path:
    """The folder itself or the first above it that is there; what is there may also be a file."""
    return next(folder for folder in (path, *path.parents) if folder.exists())
