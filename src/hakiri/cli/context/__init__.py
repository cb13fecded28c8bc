"""`hakiri context`: looking after the store."""

from __future__ import annotations

from hakiri.cli.context.check import check
from hakiri.cli.context.compact import compact
from hakiri.cli.context.gc import gc
from hakiri.cli.context.rebuild import rebuild_catalog
from hakiri.cli.context.restore import restore
from hakiri.cli.frame import examples, group_door

cli = group_door(
    "Compact, restore and check the tables of the store, and collect its garbage.",
    epilog=examples("hakiri context compact", "hakiri context check", "hakiri context gc --dry-run"),
)

cli.command(
    "compact",
    epilog=examples("hakiri context compact", "hakiri context compact github_issues --full"),
)(compact)
cli.command(
    "rebuild-catalog",
    epilog=examples("hakiri context rebuild-catalog --dry-run", "hakiri context rebuild-catalog --yes"),
)(rebuild_catalog)
cli.command(
    "check",
    epilog=examples("hakiri context check", "hakiri context check --quick", "hakiri context check --repair"),
)(check)
cli.command("gc", epilog=examples("hakiri context gc --dry-run", "hakiri context gc"))(gc)
cli.command(
    "restore",
    epilog=examples(
        "hakiri context restore orders --at 2h --dry-run",
        "hakiri context restore orders --at 2026-05-11T08:00:00Z --yes",
        "hakiri context restore --at 2026-05-11T08-00-00Z-anna-5f0e11-8d1c22aa --reread",
    ),
)(restore)
