"""The table of commands. A new command is a module with a `cli` door, and one line here."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from hakiri.cli.frame import Door, Group, examples, help_when_alone

if TYPE_CHECKING:
    from collections.abc import Mapping


class Entry(NamedTuple):
    """Where a command lives, and the line `hakiri --help` shows of it without importing the module."""

    module: str
    summary: str


COMMANDS: Mapping[str, Entry] = MappingProxyType(
    {
        "init": Entry("hakiri.cli.init", "Make a project that runs as it is."),
        "plan": Entry("hakiri.cli.plan", "Show what would change, without changing anything."),
        "apply": Entry("hakiri.cli.apply", "Pull what the manifest says and the store does not have yet."),
        "run": Entry("hakiri.cli.run", "Run one pipeline now, whatever its schedule says."),
        "serve": Entry("hakiri.cli.serve", "Keep the pipelines running, each on its schedule."),
        "status": Entry(
            "hakiri.cli.status", "Show how every pipeline stands, and what waits for a decision."
        ),
        "runs": Entry("hakiri.cli.runs", "Show what ran, and how it ended."),
        "retry": Entry("hakiri.cli.retry", "Have what failed of a pipeline tried again."),
        "skip": Entry(
            "hakiri.cli.skip", "Leave out what failed of a pipeline, and have it go on with the rest."
        ),
        "backfill": Entry("hakiri.cli.backfill", "Show the plan of a pipeline, and pull a part of it again."),
        "cursor": Entry("hakiri.cli.cursor", "Show how far each table was read, and move that by hand."),
        "context": Entry(
            "hakiri.cli.context",
            "Compact, restore and check the tables of the store, and collect its garbage.",
        ),
        "query": Entry("hakiri.cli.query", "Ask the store in SQL, once or in a shell."),
        "compile": Entry(
            "hakiri.cli.compile", "Compile the transforms of the project into the plans that run."
        ),
        "preview": Entry(
            "hakiri.cli.preview",
            "Run a pipeline's source and transforms on Spark and show the first rows.",
        ),
        "source": Entry("hakiri.cli.source", "See which connectors there are, and what a source holds."),
        "singer": Entry("hakiri.cli.singer", "Run a Singer tap by hand, without a project."),
        "pipeline": Entry("hakiri.cli.pipeline", "Write and read the pipelines of the manifest."),
        "catalog": Entry(
            "hakiri.cli.catalog", "Show, migrate and check the catalog, where all state is kept."
        ),
        "config": Entry("hakiri.cli.config", "Show every setting and where its value comes from."),
        "schema": Entry(
            "hakiri.cli.schema",
            "Log, accept, migrate and reconcile the columns of tables, and export JSON Schemas.",
        ),
        "engine": Entry("hakiri.cli.engine", "Start, stop and watch the warm Spark servers of this user."),
        "doctor": Entry("hakiri.cli.doctor", "Check that everything is there and works, and say what to do."),
    }
)

_ABOUT = """Declarative data pipelines and context for people and agents, on Spark.

Start with `hakiri init`. Every command has `--help` with examples, and every command that reports takes
`--json`.
"""


class RootGroup(Group):
    """`hakiri` itself: imports the module of the command that is called, and no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = COMMANDS.get(cmd_name)
        return entry and typer.main.get_command(import_module(entry.module).cli)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def root_command() -> Any:
    """The whole command line as one value."""
    door = Door(
        cls=RootGroup,
        name="hakiri",
        help=_ABOUT,
        epilog=examples("hakiri init shop", "hakiri -C shop plan", "hakiri -C shop preview orders"),
        callback=help_when_alone,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    return typer.main.get_command(door)
