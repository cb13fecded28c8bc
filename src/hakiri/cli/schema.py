"""`hakiri schema`: the JSON Schemas of the manifest files, and how the columns of tables change."""

from __future__ import annotations

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door
from hakiri.cli.schema_accept import accept
from hakiri.cli.schema_log import log
from hakiri.cli.schema_migrate import migrate
from hakiri.cli.schema_reconcile import reconcile
from hakiri.cli.schema_regen import regen_view

cli = group_door(
    "Log, accept, migrate and reconcile the columns of tables, and export JSON Schemas.\n\n"
    "See how the columns of tables changed, and decide about changes that were refused. "
    "The JSON Schemas are those of the manifest files.",
    epilog=examples(
        "hakiri schema export", "hakiri schema log orders", "hakiri schema accept --pipeline orders"
    ),
)


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


cli.command(
    "log",
    epilog=examples("hakiri schema log orders", "hakiri schema log shop --table orders --json"),
)(log)
cli.command(
    "accept",
    epilog=examples(
        "hakiri schema accept --pipeline orders",
        "hakiri schema accept --pipeline shop --table orders --column total --as ada",
    ),
)(accept)
cli.command(
    "migrate",
    epilog=examples(
        "hakiri schema migrate --pipeline shop --table orders --primary-key id,region",
        "hakiri schema migrate --pipeline shop --table events --no-primary-key",
    ),
)(migrate)
cli.command(
    "reconcile",
    epilog=examples(
        "hakiri schema reconcile orders --with ../laptop/.hakiri/context/shop/meta.sqlite",
        "hakiri schema reconcile orders --with other/meta.sqlite --take theirs",
    ),
)(reconcile)
cli.command(
    "regen-view",
    epilog=examples(
        "hakiri schema regen-view", "hakiri schema regen-view orders", "hakiri schema regen-view --check"
    ),
)(regen_view)
