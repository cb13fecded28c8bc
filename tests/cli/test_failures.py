from __future__ import annotations

import errno
import pickle

import pytest

from hakiri.cli.failures import (
    Interrupted,
    SystemRefused,
    as_hakiri_error,
    asks_for_json,
    human_text,
)
from hakiri.cli.reports.envelope import to_envelope
from hakiri.cli.reports.failure import error_report
from hakiri.core.errors import ExitCode, HakiriError, Place, UsageError


class LeaseHeld(HakiriError):
    code = "lease.held"
    exit_code = ExitCode.REFUSED


HELD = LeaseHeld(
    "`orders` is being applied", places=[Place("hakiri.toml", 7), Place("a.json")], hint="wait for it"
)


def test_an_error_reads_what_then_where_then_what_to_do() -> None:
    assert human_text(HELD) == (
        "error[lease.held]: `orders` is being applied\n  --> hakiri.toml:7\n  --> a.json\nhint: wait for it"
    )


def test_an_error_without_places_and_hint_is_one_line() -> None:
    assert human_text(UsageError("this cannot be meant")) == "error[usage]: this cannot be meant"


def test_an_error_is_also_data() -> None:
    assert to_envelope(error_report(HELD)) == {
        "schema_version": 1,
        "error": {
            "code": "lease.held",
            "message": "`orders` is being applied",
            "places": ({"file": "hakiri.toml", "line": 7}, {"file": "a.json", "line": None}),
            "hint": "wait for it",
            "problems": (),
        },
    }


def test_ctrl_c_is_one_word_and_130() -> None:
    error = as_hakiri_error(KeyboardInterrupt())

    assert (type(error), human_text(error), error.exit_code) == (Interrupted, "interrupted", 130)


def test_what_nobody_foresaw_is_ours_to_fix() -> None:
    error = as_hakiri_error(ZeroDivisionError("division by zero"))

    assert (type(error), error.exit_code) == (HakiriError, 1)
    assert human_text(error).startswith(
        "error[internal]: ZeroDivisionError: division by zero\n"
        "hint: run it again with `--verbose` and report what it prints"
    )


def test_an_unforeseen_error_without_words_is_named_by_its_type() -> None:
    assert str(as_hakiri_error(RuntimeError())) == "RuntimeError"


def test_what_the_system_refuses_is_not_called_internal() -> None:
    error = as_hakiri_error(OSError(errno.ENOSPC, "No space left on device", "/data/x"))

    assert (type(error), str(error)) == (SystemRefused, "no space left on device: `/data/x`")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["plan", "--json"], True),
        (["plan"], False),
        (["say", "--", "--json"], False),
        (["say", "--json", "--"], True),
    ],
)
def test_json_is_asked_for_only_before_two_dashes(args: list[str], expected: bool) -> None:
    assert asks_for_json(args) is expected


@pytest.mark.parametrize("kind", [Interrupted, SystemRefused])
def test_errors_of_the_command_line_survive_pickling(kind: type[HakiriError]) -> None:
    error = pickle.loads(pickle.dumps(kind("bad", hint="do it")))

    assert (type(error), str(error), error.hint) == (kind, "bad", "do it")
