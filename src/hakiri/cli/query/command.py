"""`hakiri query`: what is asked, of which store, and in which form."""

from __future__ import annotations

from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.query.place import StorePlace
    from hakiri.cli.query.showing import Viewer
    from hakiri.store.query.connecting import StoreState
    from hakiri.store.query.session import Session, Statement

cli = command_door()

STDIN = "-"
ALL_HINT = "--all, --csv or --parquet FILE for all of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The form in which an answer is wanted; a table if none is named."""

    as_json: bool
    as_csv: bool
    parquet: Path | None
    all_rows: bool


@cli.command(
    "query",
    epilog=examples(
        "hakiri query",
        'hakiri query "SELECT author, count(*) FROM github_issues GROUP BY 1"',
        'hakiri query "FROM hakiri.tables"',
        'hakiri query --csv "FROM orders"',
        "hakiri query --parquet paid.parquet \"FROM orders WHERE status = 'paid'\"",
        "hakiri query -f report.sql --json",
        'hakiri query --at 2h "SELECT count(*) FROM orders"',
    ),
)
def query(
    ctx: typer.Context,
    *,
    sql: Annotated[
        str | None,
        typer.Argument(metavar="[SQL]", help="Statements of DuckDB's SQL; `-` reads them from stdin."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("-f", "--file", metavar="FILE", help="Read the statements from this file.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print all rows as CSV, while they are made.")
    ] = False,
    parquet: Annotated[
        str | None, typer.Option("--parquet", metavar="FILE", help="Write all rows to this Parquet file.")
    ] = None,
    all_rows: Annotated[bool, typer.Option("--all", help="Print all rows, not only the first 40.")] = False,
    when: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="WHEN", help="Show the store as it was: at a time, `2h` ago, or at a snapshot."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the store in SQL, once or in a shell.

    The SQL is DuckDB's, unchanged; every table of the store is a view, and `hakiri.tables` lists them. Of
    several statements the last result is shown. Nothing that is asked can change the store. Without
    statements, a shell opens on a terminal. With `--at` all tables are as they were at that moment, as long
    as their files of then are kept.
    """
    app = app_of(ctx)
    wish = _wish(app, as_json=as_json, as_csv=as_csv, parquet=parquet, all_rows=all_rows)
    text = _text(app, sql, file)
    from hakiri.cli.query.place import store_place

    place = store_place(app)
    with chdir(app.cwd), open_session(place, when) as session:
        if text is None:
            from hakiri.cli.query.shell import run_shell

            run_shell(place, session)
        else:
            _answer(place, session, text, wish)


def open_session(place: StorePlace, when: str | None = None) -> Session:
    """A connection to the newest state of the store, or to that of an earlier moment."""
    from hakiri.store.query.moving import newest_state
    from hakiri.store.query.session import Session

    past = None if when is None else _past(place, when)

    def find() -> StoreState:
        return newest_state(place.layout, place.catalog) if past is None else past

    def make_tables(connection: Any) -> None:
        from hakiri.store.query.system_tables import make_system_tables

        at = None if past is None else past.at
        now = at or place.app.clock.now()
        make_system_tables(connection, place.layout, place.catalog, now, is_past=at is not None)

    session = Session(place.layout, find, make_tables)
    if (before := session.state.moved_from) is not None:
        place.app.console.warn(
            f"the store was moved here from `{before}`, where its views still read; this answer is from here",
            hint="run `hakiri schema regen-view` once, so that other readers find it here too",
        )
    return session


def _past(place: StorePlace, when: str) -> StoreState:
    from hakiri.store.past import moment_of, store_at
    from hakiri.store.query.connecting import StoreState
    from hakiri.store.views import view_sql

    with place.catalog() as catalog:
        at = moment_of(when, catalog, place.app.clock.now())
        if catalog is None:
            return StoreState(layout=place.layout, texts={}, at=at)
        found = store_at(place.layout, catalog, at)
    texts = {state.table: view_sql(state) for state in found.states}
    return StoreState(layout=place.layout, texts=texts, at=at, refused=found.refused)


def _wish(app: App, *, as_json: bool, as_csv: bool, parquet: str | None, all_rows: bool) -> Wish:
    named = {"--json": as_json, "--csv": as_csv, "--parquet": parquet is not None, "--all": all_rows}
    given = [f"`{name}`" for name, is_given in named.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", hint="keep one of them")
    target = None if parquet is None else app.cwd / parquet
    if target is not None and (target.is_dir() or not target.parent.is_dir()):
        raise UsageError(f"`{parquet}` cannot be written", hint="give a file in a folder that is there")
    return Wish(as_json=as_json, as_csv=as_csv, parquet=target, all_rows=all_rows)


def file_text(path: Path) -> str:
    """Statements of a file. Bytes that are no UTF-8 come along, and whoever splits the text refuses them."""
    return path.read_text("utf-8", errors="surrogateescape")


def stdin_text(stream: TextIO) -> str:
    """The same from stdin, whatever encoding the terminal has."""
    raw: BinaryIO | None = getattr(stream, "buffer", None)
    return stream.read() if raw is None else raw.read().decode("utf-8", errors="surrogateescape")


def _text(app: App, sql: str | None, file: str | None) -> str | None:
    """What is asked; None if a person wants to ask one question after the other."""
    if sql is not None and file is not None:
        raise UsageError("statements and `--file` exclude each other", hint="give one of them")
    if sql is None and file is None:
        if app.stdin.isatty() and app.console.out.isatty():
            return None
        sql = STDIN
    if STDIN in (sql, file):
        return stdin_text(app.stdin)
    return sql if file is None else file_text(app.cwd / file)


def _answer(place: StorePlace, session: Session, text: str, wish: Wish) -> None:
    from hakiri.cli.query.showing import Viewer
    from hakiri.cli.query.waiting import Watch
    from hakiri.store.errors import moment_text
    from hakiri.store.query.connecting import published

    console, clock = place.app.console, place.app.clock
    statements = session.split(text)
    if not statements:
        raise UsageError(
            "there is no statement to run", hint='write one, as in `hakiri query "FROM hakiri.tables"`'
        )
    session.prepare(text)
    watch = Watch(console, clock, session)
    viewer = Viewer(console=console, session=session, watch=watch, all_hint=ALL_HINT)
    last = max((at for at, each in enumerate(statements) if each.has_rows), default=None)
    changed = None
    for at, statement in enumerate(statements):
        if at == last:
            _show(viewer, statement, wish)
        else:
            changed = watch.wait_for(partial(session.run, statement))
    if last is None:
        _tell_done(viewer, wish, changed)
    if session.state.at is not None:
        console.note(f"as of {moment_text(session.state.at)}")
    elif published(session.layout) is None and not session.tables():
        console.note(f"the store of `{place.project}` has no tables yet; `hakiri apply` pulls what there is")


def _show(viewer: Viewer, statement: Statement, wish: Wish) -> None:
    from hakiri.cli.query.showing import SHOWN_ROWS, counted

    if wish.as_json:
        viewer.show_json(statement)
    elif wish.as_csv:
        viewer.show_csv(statement)
    elif wish.parquet is not None:
        rows = viewer.write_parquet(statement, wish.parquet)
        viewer.console.note(f"wrote {counted(rows)} to {wish.parquet}")
    else:
        # Where nobody looks at a screen, somebody may count on every row.
        is_cut = viewer.console.out.isatty() and not wish.all_rows
        viewer.show_table(statement, most=SHOWN_ROWS if is_cut else None)


def _tell_done(viewer: Viewer, wish: Wish, changed: int | None) -> None:
    from hakiri.cli.query.showing import counted, report_head, report_tail

    if wish.parquet is not None:
        raise UsageError("no statement has rows to write", hint="give a `SELECT`, or leave `--parquet` out")
    if wish.as_json:
        viewer.console.out.write(report_head(()) + report_tail(rows=0, changed=changed))
        return
    viewer.console.note("done" if changed is None else f"done: {counted(changed)}")
