"""`hakiri context check`: whether the store is whole, and mending what can be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.cli.app import App
    from hakiri.cli.console import Console
    from hakiri.cli.reports import ContextCheckReport
    from hakiri.cli.reports.context import FindingRow
    from hakiri.store.checking.findings import Checked, Finding


def check(
    ctx: typer.Context,
    *,
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE", help="Some tables; all if left out.")
    ] = None,
    is_quick: Annotated[
        bool, typer.Option("--quick", help="Look at the size of files only, and read no data.")
    ] = False,
    is_repair: Annotated[
        bool, typer.Option("--repair", help="Write anew what can be derived from the catalog.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Look whether every file of the store is what was written.

    Compares sizes and hashes with the manifests, these and all that is derived with the catalog, and names
    what nobody knows. Runs may go on meanwhile. Exits with 1 when something is damaged or out of step.
    `--repair` never deletes or changes a file of rows.
    """
    from hakiri.cli.context.check_display import CheckDisplay
    from hakiri.cli.context.tables import chosen_tables
    from hakiri.cli.runtime import open_to_mend
    from hakiri.store.checking.checking import Checker
    from hakiri.store.files import LocalFiles

    app = app_of(ctx)
    began = app.clock.monotonic()
    with open_to_mend(app, is_look=not is_repair) as place, CheckDisplay(app.console, app.clock) as display:
        only = [name for table in tables or () for name in chosen_tables(place, table)]
        checker = Checker(catalog=place.catalog, layout=place.layout, files=LocalFiles(), clock=app.clock)
        checked = checker.check(display, only=only, is_quick=is_quick)
        if is_repair:
            display.step("mending")
            checked = checker.repair(checked)
    report = _report(checked, is_quick=is_quick, seconds=app.clock.monotonic() - began)
    if as_json:
        app.console.data(report)
    else:
        _show(app, report, is_repair=is_repair)
    return ExitCode.DONE if report.is_whole else ExitCode.FAILED


def _report(checked: Checked, *, is_quick: bool, seconds: float) -> ContextCheckReport:
    from hakiri.cli.reports import ContextCheckReport

    return ContextCheckReport(
        is_whole=checked.is_whole,
        is_quick=is_quick,
        tables=checked.tables,
        files=checked.files,
        bytes=checked.bytes,
        seconds=round(seconds, 3),
        findings=tuple(_row(finding) for finding in checked.findings),
    )


def _row(finding: Finding) -> FindingRow:
    from hakiri.cli.reports.context import FindingRow

    return FindingRow(
        kind=finding.kind,
        severity=finding.severity,
        table=finding.table,
        path=finding.path,
        found=finding.found,
        next=finding.advice,
        bytes=finding.bytes,
        age_seconds=None if finding.age is None else finding.age.total_seconds(),
        is_mended=finding.is_mended,
    )


def _show(app: App, report: ContextCheckReport, *, is_repair: bool) -> None:
    from hakiri.cli.board.words import counted
    from hakiri.core.grammar import format_size

    left = [row for row in report.findings if not row.is_mended]
    _table(app.console, report.findings)
    looked = f"{counted(report.files, 'file')}, {format_size(report.bytes)}, {report.seconds:.1f} s"
    if report.is_whole:
        what = "every file is there and has its size" if report.is_quick else "the store is whole"
        app.console.print(f"{what}: {counted(len(report.tables), 'table')}, {looked}")
    else:
        bad = [row for row in left if row.severity != "litter"]
        app.console.note(f"the store is not whole: {counted(len(bad), 'finding')} in {looked}")
        if not is_repair and any(row.severity == "drift" or "manifest" in row.kind for row in bad):
            app.console.note("hint: `hakiri context check --repair` mends what can be derived")
    if mended := len(report.findings) - len(left):
        app.console.note(f"{counted(mended, 'finding')} mended")


def _table(console: Console, rows: Sequence[FindingRow]) -> None:
    if rows:
        console.table(
            ("", "file", "found", "next"),
            [
                (
                    "mended" if row.is_mended else row.severity,
                    row.path,
                    _found_words(row),
                    "" if row.is_mended else row.next,
                )
                for row in rows
            ],
        )


def _found_words(row: FindingRow) -> str:
    from hakiri.cli.board.words import seconds_words
    from hakiri.core.grammar import format_size

    if row.bytes is None or row.age_seconds is None:
        return row.found
    return f"{row.found}; {format_size(row.bytes)}, {seconds_words(row.age_seconds)} old"
