from __future__ import annotations

import io

import pytest

from hakiri.cli.console import Console, may_use_colors, with_styled_words
from hakiri.cli.reports.project import SchemaExportReport

REPORT = SchemaExportReport(folder="/p", files=("a.json",))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def console(
    *, out: io.StringIO, err: io.StringIO, is_quiet: bool = False, is_verbose: bool = False
) -> Console:
    return Console(out=out, err=err, env={}, is_quiet=is_quiet, is_verbose=is_verbose)


@pytest.mark.parametrize(
    ("is_terminal", "env", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours_follow_the_terminal_and_the_two_variables(
    is_terminal: bool, env: dict[str, str], expected: bool
) -> None:
    stream = Terminal() if is_terminal else io.StringIO()

    assert may_use_colors(stream, env) is expected


def test_only_the_fixed_words_of_a_message_are_coloured() -> None:
    text = "error[usage]: no hint: here\n  --> hakiri.toml:3\nhint: do it"

    assert with_styled_words(text) == (
        "\x1b[1;31merror[usage]:\x1b[0m no hint: here\n"
        "\x1b[36m  -->\x1b[0m hakiri.toml:3\n"
        "\x1b[36mhint:\x1b[0m do it"
    )


def test_quiet_silences_notes_and_warnings_but_not_errors_and_data() -> None:
    out, err = io.StringIO(), io.StringIO()
    quiet = console(out=out, err=err, is_quiet=True)

    quiet.note("a note")
    quiet.warn("a warning", hint="a hint")
    quiet.detail("a detail")
    quiet.error("error[x]: bad")
    quiet.print("data")

    assert (out.getvalue(), err.getvalue()) == ("data\n", "error[x]: bad\n")


def test_details_are_said_only_when_verbose() -> None:
    out, err = io.StringIO(), io.StringIO()

    console(out=out, err=err).detail("hidden")
    console(out=out, err=err, is_verbose=True).detail("shown")

    assert err.getvalue() == "shown\n"


def test_a_report_is_one_line_of_json_behind_its_version() -> None:
    out = io.StringIO()

    console(out=out, err=io.StringIO()).data(REPORT)

    assert out.getvalue() == '{"schema_version": 1, "folder": "/p", "files": ["a.json"]}\n'


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(TypeError, match="a report is a dataclass, not dict"):
        console(out=io.StringIO(), err=io.StringIO()).data({"a": 1})


def test_a_table_in_a_pipe_is_never_cut_and_has_no_spaces_at_line_ends() -> None:
    out = io.StringIO()
    long = "x" * 500

    console(out=out, err=io.StringIO()).table(("id", "text"), [("a", long), ("[b]b", "")])

    assert out.getvalue() == f"id    text\na     {long}\n[b]b\n"
