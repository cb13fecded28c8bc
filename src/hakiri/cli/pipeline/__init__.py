"""`hakiri pipeline`: the pipelines of the manifest, read and written."""

from __future__ import annotations

from hakiri.cli.frame import examples, group_door
from hakiri.cli.pipeline.reading import describe, list_pipelines
from hakiri.cli.pipeline.writing import convert, create, edit

cli = group_door(
    "Write and read the pipelines of the manifest.",
    epilog=examples(
        "hakiri pipeline list",
        "hakiri pipeline describe orders",
        "hakiri pipeline edit orders --field 'schedule=every 1h'",
    ),
)

cli.command("list", epilog=examples("hakiri pipeline list", "hakiri pipeline list --json"))(list_pipelines)
cli.command(
    "describe", epilog=examples("hakiri pipeline describe orders", "hakiri pipeline describe orders --json")
)(describe)
cli.command(
    "create",
    epilog=examples(
        "hakiri pipeline create refunds --connector files --config 'path=data/*.csv' --table refunds",
        "hakiri pipeline create issues --connector github --config repo=owner/name --table issues \\",
        "    --schedule 'every 15m' --incremental updated_at --secret GITHUB_TOKEN --format toml",
        "hakiri pipeline create --from spec.json --json",
        "hakiri pipeline create issues --from -",
    ),
)(create)
cli.command(
    "edit",
    epilog=examples(
        "hakiri pipeline edit orders --field 'schedule=every 1h'",
        "hakiri pipeline edit orders --field backfill.window=30d --field 'tables=[\"orders\"]'",
        "hakiri pipeline edit orders --unset incremental --json",
    ),
)(edit)
cli.command(
    "convert",
    epilog=examples(
        "hakiri pipeline convert orders --to json", "hakiri pipeline convert orders --to toml --json"
    ),
)(convert)
