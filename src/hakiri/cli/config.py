"""`hakiri config`: every setting, its value, and where the value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.cli.reports import ConfigReport
    from hakiri.core.settings import Setting


def show_all(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Show every setting when no command was given."""
    if ctx.invoked_subcommand is not None:
        return
    from hakiri.cli.project import settings_of
    from hakiri.core.settings import shown

    app = app_of(ctx)
    settings = settings_of(app)
    if as_json:
        app.console.data(_report(settings.all, settings.warnings))
        return
    app.console.table(
        ("setting", "value", "from"),
        [(setting.key, shown(setting), _source(setting)) for setting in settings.all],
    )


cli = group_door(
    "Show every setting and where its value comes from.\n\n"
    "A flag (`--set KEY=VALUE`) beats the environment (`HAKIRI_ENGINE_MASTER`), which beats `hakiri.toml`, "
    "which beats the default. Secrets are masked.",
    epilog=examples(
        "hakiri config",
        "hakiri config --json",
        "hakiri config --set engine.master=spark://host:7077",
        "hakiri config get engine.master",
    ),
    callback=show_all,
)


@cli.command("get", epilog=examples("hakiri config get engine.master", "hakiri config get engine --json"))
def get(
    ctx: typer.Context,
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A setting, or a section to see all of it.")],
    as_json: AsJson = False,
) -> None:
    """Print the value of one setting, or of every setting of a section."""
    from hakiri.cli.project import settings_of
    from hakiri.core.nearest import nearest
    from hakiri.core.settings import SETTINGS, UnknownSetting, shown

    app = app_of(ctx)
    is_json_asked_before = ctx.parent is not None and ctx.parent.params.get("as_json", False)
    settings = settings_of(app)
    found = [each for each in settings.all if each.key == key or each.key.startswith(f"{key}.")]
    if not found:
        meant = nearest(key, [spec.key for spec in SETTINGS])
        raise UnknownSetting(key, where="the command", meant=meant)
    if as_json or is_json_asked_before:
        app.console.data(_report(found, settings.warnings))
    elif [each.key for each in found] == [key]:
        app.console.print(shown(found[0]))
    else:
        app.console.table(("setting", "value"), [(each.key, shown(each)) for each in found])


def _source(setting: Setting) -> str:
    return setting.origin if setting.where in {setting.origin, ""} else f"{setting.origin} ({setting.where})"


def _report(settings: Sequence[Setting], warnings: Sequence[str]) -> ConfigReport:
    from hakiri.cli.reports import ConfigReport
    from hakiri.cli.reports.config import SettingRow
    from hakiri.core.settings import shown

    rows = [
        SettingRow(
            key=setting.key,
            value=None if setting.value is None else shown(setting),
            origin=setting.origin,
            where=setting.where,
            is_secret=setting.is_secret,
        )
        for setting in settings
    ]
    return ConfigReport(settings=tuple(rows), warnings=tuple(warnings))
