from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.json_rows.cases import RECORDS
from tests.sources.json_rows.oracle import is_same

from hakiri.sources.json_rows import BadJson, NotWritable, json_text, parse_json

NUMBER_TEXTS = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
MARKER = "secret-content"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"1", 1),
        (b"1.0", 1.0),
        (b"-0", 0),
        (b"9223372036854775807", 2**63 - 1),
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", Decimal(2**64)),
        (b"-9223372036854775808", -(2**63)),
        (b"-9223372036854775809", Decimal(-(2**63) - 1)),
        (b"[12345678901234567890123,1]", [Decimal(12345678901234567890123), 1]),
        (b'{"n":-100000000000000000000}', {"n": Decimal(-(10**20))}),
        (b'"12345678901234567890123"', "12345678901234567890123"),
        (b"1e400", Decimal("1e400")),
        (b"[0.1, -1e400, 1]", [0.1, Decimal("-1e400"), 1]),
        (b"1e-400", 0.0),
        (b"0.1000000000000000055511151231257827", 0.1),
        (b"12345678901234567890123.5", 1.2345678901234568e22),
        (b'{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b" \n[]\t", []),
        (b'"\\u0000\\ud83d\\ude00"', "\0😀"),
    ],
)
def test_a_document_is_parsed_exactly(body: bytes, value: object) -> None:
    parsed = parse_json(body)

    assert is_same(parsed, value)


def test_a_whole_number_of_thousands_of_digits_is_kept() -> None:
    assert json_text(parse_json(b"[" + b"9" * 10_000 + b"]")) == f"[{'9' * 10_000}]"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"0.1", 0.1),
        (b"1234567890.0123456789", Decimal("1234567890.0123456789")),
        (b"0.10000000000000001", Decimal("0.10000000000000001")),
        (b"1e-400", Decimal("1e-400")),
        (b"1e-99999999999999999999", 0.0),
        (b"1e400", Decimal("1e400")),
    ],
)
def test_digits_that_no_float_gives_back_are_kept_if_asked_for(body: bytes, value: object) -> None:
    parsed = parse_json(body, keep_digits=True)

    assert is_same(parsed, value)


@settings(deadline=None)
@given(NUMBER_TEXTS)
def test_no_number_is_another_one_after_parsing(text: str) -> None:
    parsed: Any = parse_json(text.encode())

    if "." in text or "e" in text.lower():
        nearest = float(text)
        assert parsed == (Decimal(text) if math.isinf(nearest) else nearest)
    else:
        assert parsed == int(text)
        assert type(parsed) in {int, Decimal}


@settings(deadline=None)
@given(NUMBER_TEXTS)
def test_every_digit_of_a_number_is_kept_if_asked_for(text: str) -> None:
    parsed: Any = parse_json(text.encode(), keep_digits=True)

    assert Decimal(repr(parsed) if isinstance(parsed, float) else parsed) == Decimal(text)


@settings(deadline=None)
@given(RECORDS)
def test_what_is_written_is_parsed_again_as_it_was(records: list[dict[str, Any]]) -> None:
    assert is_same(parse_json(json_text(records).encode()), records)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "it is empty (character 1 of 0)"),
        (b" \n", "it is empty (character 1 of 2)"),
        (b'{"a": [1, 2', "it ends too early (character 12 of 11)"),
        (b'{"a": NaN}', "`NaN` is no number in JSON (character 7 of 10)"),
        (b"[-Infinity]", "`-Infinity` is no number in JSON (character 2 of 11)"),
        (b'["\xc3\xa9", "\xff"]', "a byte is not UTF-8 (character 8 of 10)"),
        (b'"\\ud800"', "no low surrogate in string (character 2 of 8)"),
        (b'["\\ud800", 1e400]', "no low surrogate in string (character 3 of 17)"),
        (b'[1e400, "\\ud800"]', "number is infinity when parsed as double (character 2 of 17)"),
        (b"[1e9999999999999999999]", "number is infinity when parsed as double (character 2 of 23)"),
        (b"[1] [2]", "unexpected content after document (character 5 of 7)"),
        (b"[" * 2000, "depth limit exceeded (character 1026 of 2000)"),
        (b"[" * 1000 + b"1" * 30 + b"]" * 1000, "it is nested too deeply (character 1 of 2030)"),
    ],
)
def test_a_body_that_is_no_json_is_refused_at_its_position(body: bytes, message: str) -> None:
    with pytest.raises(BadJson) as refused:
        parse_json(body)

    assert str(refused.value) == f"the body is no JSON: {message}"
    assert refused.value.retryable


def test_the_refusal_of_a_body_holds_nothing_of_it() -> None:
    with pytest.raises(BadJson) as refused:
        parse_json(f'{{"{MARKER}": "{MARKER}'.encode())

    error = refused.value
    assert MARKER not in repr((str(error), vars(error), error.args, error.__cause__, error.hint))
    assert error.__suppress_context__


def test_a_value_nested_deeper_than_json_text_goes_is_refused() -> None:
    with pytest.raises(NotWritable, match="a value cannot be kept as JSON text: Recursion limit reached"):
        json_text(parse_json(b"[" * 300 + b"]" * 300))
