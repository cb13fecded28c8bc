"""`hakiri source`: the connectors there are, and what the sources of pipelines hold."""

from __future__ import annotations

from hakiri.cli.frame import examples, group_door
from hakiri.cli.source.knowing import describe, list_sources
from hakiri.cli.source.looking import check, sample, tables
from hakiri.cli.source.making import new

cli = group_door(
    "See which connectors there are, and what a source holds.",
    epilog=examples(
        "hakiri source list",
        "hakiri source describe files",
        "hakiri source tables orders",
        "hakiri source sample orders",
    ),
)

cli.command("list", epilog=examples("hakiri source list", "hakiri source list --json"))(list_sources)
cli.command("describe", epilog=examples("hakiri source describe sql", "hakiri source describe rest --json"))(
    describe
)
cli.command("tables", epilog=examples("hakiri source tables orders", "hakiri source tables orders --json"))(
    tables
)
cli.command(
    "sample",
    epilog=examples(
        "hakiri source sample orders",
        "hakiri source sample github-issues comments --rows 3",
        "hakiri source sample orders --json",
    ),
)(sample)
cli.command(
    "check",
    epilog=examples("hakiri source check", "hakiri source check orders", "hakiri source check --json"),
)(check)
cli.command("new", epilog=examples("hakiri source new todo", "hakiri source new todo --json"))(new)
