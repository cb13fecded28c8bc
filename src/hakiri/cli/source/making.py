"""`hakiri source new`: a connector that works, to be changed into another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.core.errors import ExitCode, HakiriError, Place, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class ConnectorInTheWay(HakiriError):
    """A new connector would overwrite files that are there."""

    code = "source.files_in_the_way"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, paths: Sequence[str]) -> None:
        self.connector = connector
        super().__init__(
            f"files of a connector `{connector}` are there already",
            places=[Place(path) for path in paths],
            hint="choose another name, or move them away",
        )


def new(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new connector.")],
    as_json: AsJson = False,
) -> None:
    """Write a connector that works, its test, and data to read.

    Prints a pipeline for the manifest that uses it; then `hakiri source sample` shows rows.
    """
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import SourceNewReport
    from hakiri.cli.scaffold.connector import connector_files, manifest_block
    from hakiri.cli.scaffold.writing import place_files

    app = app_of(ctx)
    project = project_of(app)
    _refuse_bad_name(name, project.root)
    texts = connector_files(name)
    present = [path for path in texts if (project.root / path).exists()]
    if present:
        raise ConnectorInTheWay(name, present)
    place_files(project.root, texts, may_overwrite=False, generated="\0")
    module = name.replace("-", "_")
    report = SourceNewReport(
        connector=name,
        files=tuple(texts),
        manifest=manifest_block(name),
        next=(f"hakiri source sample {name}", f"pytest tests/test_{module}_connector.py"),
    )
    if as_json:
        app.console.data(report)
        return
    app.console.note(f"made connector `{name}` in {', '.join(report.files)}")
    app.console.note("add this to hakiri.toml:\n")
    app.console.print(report.manifest)
    app.console.note("\nthen:\n" + "\n".join(f"  {step}" for step in report.next))


def _refuse_bad_name(name: str, root: Path) -> None:
    from hakiri.manifest import parse_pipeline
    from hakiri.sources.registry import Origin, known_connectors

    # The manifest has the last word on which names it takes.
    parse_pipeline({"id": "example", "source": {"connector": name}, "tables": ["items"]}, origin="NAME")
    known = known_connectors(root).get(name)
    if known is not None and known.origin is not Origin.PROJECT:
        raise UsageError(
            f"there is a connector `{name}` already ({known.origin.value})", hint="choose another name"
        )
