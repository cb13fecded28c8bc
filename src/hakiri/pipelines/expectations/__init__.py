"""What a manifest expects of rows: checked before Spark starts, looked at while rows pass, told in words."""

from __future__ import annotations

from hakiri.pipelines.expectations.compiled import (
    Expectation,
    Expectations,
    check_expectations,
    compile_expectations,
)
from hakiri.pipelines.expectations.errors import BadExpectations, Broken, ExpectationFailed, Trouble
from hakiri.pipelines.expectations.repeats import duplicates, repeated_rows, repeats_in
from hakiri.pipelines.expectations.words import expected_of, rule_of, rules_of

__all__ = [
    "BadExpectations",
    "Broken",
    "Expectation",
    "ExpectationFailed",
    "Expectations",
    "Trouble",
    "check_expectations",
    "compile_expectations",
    "duplicates",
    "expected_of",
    "repeated_rows",
    "repeats_in",
    "rule_of",
    "rules_of",
]
