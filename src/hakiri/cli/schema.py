"""`hakiri schema`: the JSON Schemas of the manifest files."""

from __future__ import annotations

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door

cli = group_door("Write the JSON Schemas of the manifest files.", epilog=examples("hakiri schema export"))


@cli.command("export", epilog=examples("hakiri schema export", "hakiri -C shop schema export --json"))
def export(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Write the schemas of the manifest files, for editors and agents.

    They go to `.hakiri/schema/pipeline.json` and `.hakiri/schema/project.json` of the project.
    """
    from hakiri.cli.reports import SchemaExportReport
    from hakiri.manifest import export_schemas

    app = app_of(ctx)
    written = export_schemas(app.project_dir)
    report = SchemaExportReport(
        folder=str(app.project_dir),
        files=tuple(path.relative_to(app.project_dir).as_posix() for path in written),
    )
    if as_json:
        app.console.data(report)
        return
    for file in report.files:
        app.console.note(f"wrote {file}")
