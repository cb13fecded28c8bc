"""`hakiri doctor`: is everything here that Hakiri needs, and does it really work?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import GREEN, RED, YELLOW
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.cli.checks import Finding
    from hakiri.cli.console import Console

cli = command_door()


@cli.command("doctor", epilog=examples("hakiri doctor", "hakiri doctor --no-spark", "hakiri doctor --json"))
def doctor(
    ctx: typer.Context,
    *,
    no_spark: Annotated[
        bool, typer.Option("--no-spark", help="Leave out the checks that start Spark.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check that everything is there and works, and say what to do.

    Looks at Python, memory, disk, manifest, catalog, Java, Spark and DuckDB. Spark is really started and
    runs a job, whose result DuckDB reads. Exits with 1 when something is wrong.
    """
    from hakiri.cli.checks import run_checks
    from hakiri.cli.reports import DoctorReport
    from hakiri.cli.reports.engine import CheckRow

    app = app_of(ctx)
    findings = []
    for finding in run_checks(app, with_spark=not no_spark):
        findings.append(finding)
        if not as_json:
            _show(app.console, finding)
    is_healthy = not any(finding.status == "failed" for finding in findings)
    if as_json:
        rows = [
            CheckRow(name=each.name, status=each.status, found=each.found, hint=each.hint)
            for each in findings
        ]
        app.console.data(DoctorReport(is_healthy=is_healthy, checks=tuple(rows)))
    elif is_healthy:
        app.console.print("everything that was checked works")
    return ExitCode.DONE if is_healthy else ExitCode.FAILED


def _show(console: Console, finding: Finding) -> None:
    style = {"ok": GREEN, "warning": YELLOW, "failed": RED}[finding.status]
    mark = console.highlighted(f"[{finding.status}]".ljust(9), style)
    first, *rest = finding.found.splitlines()
    console.print(f"{mark} {finding.name:<9} {first}")
    for line in rest:
        console.print(f"          {'':<9} {line.strip()}")
    if finding.hint:
        console.print(f"          {'':<9} hint: {finding.hint}")
