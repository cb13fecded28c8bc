from __future__ import annotations

import io
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
import typer

from hakiri.cli.app import App, app_of, find_project
from hakiri.cli.console import Console
from hakiri.cli.failures import as_hakiri_error
from hakiri.cli.frame import Door, command_door, examples, group_door
from hakiri.core.clock import SystemClock
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def new_app(folder: Path) -> App:
    return App(
        project_dir=folder,
        cwd=folder,
        env={},
        flags=MappingProxyType({}),
        console=Console(out=io.StringIO(), err=io.StringIO(), env={}),
        stdin=io.StringIO(),
        clock=SystemClock(),
    )


def say_door() -> tuple[Door, list[tuple[App, str | None, list[str]]]]:
    """A group `tool`: `say [WORDS]... [--label TEXT]` notes how it was called, `need` needs its arguments."""
    calls: list[tuple[App, str | None, list[str]]] = []
    door = group_door("A tool.", epilog=examples("tool say"))

    @door.command("say", epilog=examples("tool say hello"))
    def say(
        ctx: typer.Context,
        words: Annotated[list[str] | None, typer.Argument()] = None,
        label: Annotated[str | None, typer.Option("--label")] = None,
    ) -> None:
        """Say it."""
        calls.append((app_of(ctx), label, words or []))

    @door.command("need", epilog=examples("tool need a --as json"))
    def need(
        what: Annotated[str, typer.Argument(metavar="WHAT")],
        form: Annotated[Literal["json", "toml"], typer.Option("--as")],
    ) -> None:
        """Need it."""

    return door, calls


def call(door: Door, app: App, *args: str) -> Any:
    command = typer.main.get_command(door)
    with command.make_context("tool", list(args), obj=app) as context:
        return command.invoke(context)


@pytest.mark.parametrize(
    "args", [("-q", "--set", "a.b=1", "say"), ("say", "-q", "--set", "a.b=1"), ("-q", "say", "--set=a.b=1")]
)
def test_global_options_stand_before_or_after_the_command(tmp_path: Path, args: tuple[str, ...]) -> None:
    door, calls = say_door()

    call(door, new_app(tmp_path), *args)

    [(app, _, _)] = calls
    assert (app.is_quiet, app.is_verbose, dict(app.flags)) == (True, False, {"a.b": "1"})


def test_the_value_of_another_option_is_never_taken_for_a_global_one(tmp_path: Path) -> None:
    door, calls = say_door()

    call(door, new_app(tmp_path), "say", "--label", "-q")

    [(app, label, _)] = calls
    assert (app.is_quiet, label) == (False, "-q")


def test_nothing_after_two_dashes_is_a_global_option(tmp_path: Path) -> None:
    door, calls = say_door()

    call(door, new_app(tmp_path), "say", "--", "-q", "--version")

    [(app, _, words)] = calls
    assert (app.is_quiet, words) == (False, ["-q", "--version"])


def test_settings_of_both_levels_are_kept_and_the_later_wins(tmp_path: Path) -> None:
    door, calls = say_door()

    call(door, new_app(tmp_path), "--set", "a=1", "--set", "b=2", "say", "--set", "b=3=4", "--set", "c=")

    [(app, _, _)] = calls
    assert dict(app.flags) == {"a": "1", "b": "3=4", "c": ""}


def test_the_project_folder_is_where_relative_paths_start(tmp_path: Path) -> None:
    door, calls = say_door()
    (tmp_path / "shop").mkdir()

    call(door, new_app(tmp_path), "say", "-C", "shop")

    [(app, _, _)] = calls
    assert app.project_dir == app.cwd == tmp_path / "shop"


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("say", "--set", "a"), "`--set a` does not name a setting and its value", "write `--set KEY=VALUE`"),
        (("-q", "say", "-v"), "`--quiet` and `--verbose` exclude each other", "keep one of them"),
        (("sya",), "`tool` has no command `sya`", "did you mean `tool say`?"),
        (("xyzzy",), "`tool` has no command `xyzzy`", "run `tool --help` for the commands there are"),
        (("say", "--lable", "x"), "`tool say` has no option `--lable`", "did you mean `--label`?"),
        (("say", "--quite"), "`tool say` has no option `--quite`", "did you mean `--quiet`?"),
        (("say", "-x"), "`tool say` has no option `-x`", "run `tool say --help` for what it takes"),
        (("say", "--label"), "option `--label` requires an argument", ""),
        (("need",), "missing argument `WHAT`", "run `tool need --help` for what it takes"),
        (("need", "a"), "missing option `--as`", "choose one of: json, toml"),
        (
            ("need", "a", "--as", "yaml"),
            "invalid value for `--as`: `yaml` is not one of `json`, `toml`",
            "run `tool need --help` for what it takes",
        ),
        (
            ("need", "a", "b c", "--as", "json"),
            "unexpected argument `b c`",
            "run `tool need --help` for what it takes",
        ),
    ],
)
def test_a_mistyped_command_line_names_what_was_meant(
    tmp_path: Path, args: tuple[str, ...], message: str, hint: str
) -> None:
    door, calls = say_door()

    with pytest.raises(Exception) as caught:  # noqa: PT011 - typer's own errors have no public base
        call(door, new_app(tmp_path), *args)

    error = as_hakiri_error(caught.value)
    assert (type(error), str(error), error.hint, calls) == (UsageError, message, hint, [])


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    door, _ = say_door()

    with pytest.raises(UsageError, match=r"there is no folder `.*nowhere`"):
        call(door, new_app(tmp_path), "-C", "nowhere", "say")


def test_a_group_that_is_called_alone_prints_its_help(tmp_path: Path) -> None:
    door, _ = say_door()
    app = new_app(tmp_path)

    call(door, app)

    assert isinstance(app.console.out, io.StringIO)
    assert "Commands:\n  say   Say it.\n  need  Need it." in app.console.out.getvalue()


def test_examples_keep_their_lines_in_the_help(tmp_path: Path) -> None:
    door = command_door()

    @door.command("one", epilog=examples("tool one " + "long " * 30, "tool one --json"))
    def one() -> None:
        """One."""

    command = typer.main.get_command(door)
    context = command.context_class(command, info_name="tool")

    assert f"  Examples:\n    tool one {'long ' * 30}\n    tool one --json" in command.get_help(context)


def test_the_project_is_the_nearest_folder_above_with_a_manifest(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)

    assert find_project(inner) == inner
    (tmp_path / "a" / "hakiri.toml").touch()
    assert find_project(inner) == tmp_path / "a"
