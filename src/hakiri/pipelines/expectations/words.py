"""Expectations in words: why a row went to quarantine, and what a plan says will be checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hakiri.manifest import Bound, ExpectationSpec, OnFail, RangeSpec, Scalar

MOST_VALUES_SHOWN = 8
LONGEST_PREDICATE_SHOWN = 200

_CONSEQUENCES: dict[OnFail, str] = {
    "fail": "else the chunk fails",
    "warn": "else the row is counted, and stored",
    "quarantine": "else the row goes to quarantine",
}


def expected_of(expectation: ExpectationSpec) -> str:
    """What goes on after the word `expected`: "`price` between 0 and 1000"."""
    column = f"`{expectation.column}`"
    match expectation.check:
        case "not_null":
            return f"{column} to have a value"
        case "unique":
            return f"{column} to be unique in a chunk"
        case "in":
            return f"{column} to be {_listed(expectation.in_ or ())}"
        case "range" if expectation.range is not None:
            return f"{column} {_spanned(expectation.range)}"
        case _:
            return f"`{_shortened(expectation.predicate or '')}`"


def rule_of(expectation: ExpectationSpec) -> str:
    """One line for a plan: "expect `price` between 0 and 1000, else the row goes to quarantine"."""
    return f"expect {expected_of(expectation)}, {_CONSEQUENCES[expectation.on_fail]}"


def rules_of(expectations: Sequence[ExpectationSpec]) -> tuple[str, ...]:
    """One line for each."""
    return tuple(map(rule_of, expectations))


def _listed(values: Sequence[Scalar]) -> str:
    shown = ", ".join(f"`{_written(value)}`" for value in values[:MOST_VALUES_SHOWN])
    more = len(values) - MOST_VALUES_SHOWN
    if more > 0:
        return f"one of {shown} and {more} more"
    return shown if len(values) == 1 else f"one of {shown}"


def _spanned(span: RangeSpec) -> str:
    if span.max is None:
        return f"of at least {_bound(span.min)}"
    if span.min is None:
        return f"of at most {_bound(span.max)}"
    return f"between {_bound(span.min)} and {_bound(span.max)}"


def _bound(bound: Bound | None) -> str:
    return str(bound) if isinstance(bound, int | float) else "" if bound is None else bound.text


def _written(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_PREDICATE_SHOWN else f"{line[:LONGEST_PREDICATE_SHOWN]}…"
