"""`hakiri source list | describe`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import MANIFEST_NAME, App, app_of
from hakiri.cli.frame import AsJson

if TYPE_CHECKING:
    from pathlib import Path

    from hakiri.cli.reports.sources import ConfigKeyRow

_SECRETS = {"no": "", "may": "; `${NAME}` may stand in it", "must": "; as `${NAME}` only"}


def list_sources(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """List all connectors: built in, of installed packages, and of the project.

    Nothing is loaded, so a connector that is broken is listed too.
    """
    from hakiri.cli.reports import SourceListReport
    from hakiri.cli.reports.sources import ConnectorRow
    from hakiri.sources.listing import list_connectors

    app = app_of(ctx)
    rows = tuple(
        ConnectorRow(
            name=each.name,
            origin=each.origin.value,
            where=each.where,
            summary=each.summary,
            problem=each.problem,
        )
        for each in list_connectors(project_root(app))
    )
    if as_json:
        app.console.data(SourceListReport(connectors=rows))
        return
    app.console.table(
        ("connector", "origin", "where", "what it reads"),
        [(row.name, row.origin, row.where, row.summary or row.problem) for row in rows],
    )


def describe(
    ctx: typer.Context,
    *,
    connector: Annotated[str, typer.Argument(metavar="CONNECTOR", help="The name of the connector.")],
    as_json: AsJson = False,
) -> None:
    """Show what a connector takes in its config, and a pipeline to begin with."""
    from hakiri.cli.reports import SourceDescribeReport
    from hakiri.cli.reports.sources import ConfigKeyRow
    from hakiri.core.errors import Place
    from hakiri.sources.describing import describe_connector
    from hakiri.sources.registry import connector_class, known_connectors

    app = app_of(ctx)
    root = project_root(app)
    everything = known_connectors(root)
    known = everything.get(connector) or everything.get(connector.replace("-", "_"))
    place = Place(known.where if known is not None else "command line")
    found = describe_connector(connector, connector_class(connector, root, place))
    assert known is not None  # noqa: S101 - a connector that was loaded is known
    report = SourceDescribeReport(
        connector=found.name,
        origin=known.origin.value,
        where=known.where,
        summary=found.summary,
        keys=tuple(
            ConfigKeyRow(
                key=key.path,
                type=key.type,
                is_required=key.is_required,
                default=key.default,
                secrets=key.secrets,
                when=key.when,
                description=key.description,
            )
            for key in found.keys
        ),
        config_schema=found.config_schema,
        example=found.example,
    )
    if as_json:
        app.console.data(report)
        return
    summary = f": {report.summary}" if report.summary else ""
    app.console.print(f"{report.connector}{summary} ({report.origin}, {report.where})\n")
    if report.keys:
        app.console.table(("key", "type", "default", "what it is"), [_shown(key) for key in report.keys])
    else:
        app.console.print("it takes no config")
    app.console.print(f"\nin the manifest:\n\n{report.example}")


def project_root(app: App) -> Path | None:
    """The project's folder, if there is a project: connectors are listed without one too."""
    return app.project_dir if os.path.lexists(app.project_dir / MANIFEST_NAME) else None


def _shown(key: ConfigKeyRow) -> tuple[str, str, str, str]:
    default = "required" if key.is_required else key.default or ""
    when = f"with {key.when}: " if key.when else ""
    return (key.key, f"{key.type}{_SECRETS[key.secrets]}", default, f"{when}{key.description}")
