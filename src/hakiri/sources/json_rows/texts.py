"""JSON bytes to Python values and back, without a digit lost on the way.

The values are what orjson makes of JSON: None, flags, ints of 64 bits (signed or unsigned), floats, texts,
lists and dicts. One is added: a number that none of these holds is a `Decimal`. Of equal keys in one object
the last wins. A number with a fraction or an exponent is the nearest float64, as everywhere in JSON.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from hakiri.sources.json_rows.errors import BadJson, NotWritable

_BOM = b"\xef\xbb\xbf"
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_WHOLE = re.compile(rb"(?<![0-9.])(?:-[0-9]{19}|[0-9]{20})[0-9]*(?![0-9.eE])")
_NO_NUMBER = re.compile(r"NaN|-?Infinity")
DIGITS_OF_DOUBLE = 15  # a decimal number of so many digits comes back whole from a float64
_SMALLEST_WHOLE, _PAST_LARGEST_WHOLE = -(2**63), 2**64
_MOST_DIGITS_OF_WHOLE = 20


def parse_json(body: bytes, *, keep_digits: bool = False) -> Any:
    """The document in a body of UTF-8, with or without a byte order mark; raises BadJson.

    With `keep_digits`, a number whose digits a float64 does not give back is a `Decimal` too.
    """
    body = body.removeprefix(_BOM)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        # Perhaps only a number that is too large for it, such as 1e400.
        try:
            document = _parse_exactly(body, keep_digits=keep_digits)
            json_text(document)  # refuses half a surrogate pair, which Python's own reader takes
        except (ValueError, ArithmeticError, RecursionError, NotWritable):
            raise _refusal(error, body) from None  # orjson's own error holds the whole body
        return document
    if not _may_have_lost_digits(body, keep_digits=keep_digits):
        return document
    try:
        return _parse_exactly(body, keep_digits=keep_digits)
    except RecursionError:
        raise BadJson("it is nested too deeply", position=0, length=len(body)) from None


def json_text(value: Any) -> str:
    """The value as JSON: no blanks, keys in their order, numbers in their shortest form."""
    try:
        return orjson.dumps(value, default=_number_as_it_is).decode()
    except TypeError as error:
        raise NotWritable(str(error)) from None


def _number_as_it_is(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError(f"`{type(value).__name__}` is no JSON")


def _may_have_lost_digits(body: bytes, *, keep_digits: bool) -> bool:
    """Whether orjson may have read a number of this body as a float64 that is not equal to it.

    It does so with whole numbers beyond 64 bits. Long rows of digits are looked for with two passes of C
    code, since a regular expression over every page would take longer than parsing it.
    """
    if keep_digits:
        digits = body.translate(_ZEROS, b".")
        return b"0" * (DIGITS_OF_DOUBLE + 1) in digits or b"e-" in body or b"E-" in body
    digits = body.translate(_ZEROS)
    is_suspect = b"0" * 20 in digits or b"-" + b"0" * 19 in digits
    return is_suspect and _LONG_WHOLE.search(body) is not None


def _parse_exactly(body: bytes, *, keep_digits: bool) -> Any:
    return json.loads(
        body.decode(),
        parse_int=_whole,
        parse_float=_number_with_its_digits if keep_digits else _number,
        parse_constant=_refuse_constant,
    )


def _whole(text: str) -> int | Decimal:
    # Longer texts are not even tried: Python refuses to make an int of some thousand digits.
    if len(text) > _MOST_DIGITS_OF_WHOLE:
        return Decimal(text)
    number = int(text)
    return number if _SMALLEST_WHOLE <= number < _PAST_LARGEST_WHOLE else Decimal(text)


def _number(text: str) -> float | Decimal:
    number = float(text)
    return Decimal(text) if math.isinf(number) else number


def _number_with_its_digits(text: str) -> float | Decimal:
    number = _number(text)
    if isinstance(number, Decimal):
        return number
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return number  # an exponent of many digits below zero: nothing but a float64 can say how small it is
    return number if exact == Decimal(repr(number)) else exact


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _refusal(error: orjson.JSONDecodeError, body: bytes) -> BadJson:
    text = body.decode(errors="replace")
    try:
        body.decode()
    except UnicodeDecodeError as undecodable:
        position = len(body[: undecodable.start].decode())
        return BadJson("a byte is not UTF-8", position=position, length=len(text))
    if not text.strip():
        return BadJson("it is empty", position=0, length=len(text))
    if error.pos >= len(text):
        return BadJson("it ends too early", position=len(text), length=len(text))
    constant = _NO_NUMBER.match(text, error.pos - (text[error.pos - 1 : error.pos] == "-"))
    if constant:
        problem = f"`{constant.group()}` is no number in JSON"
        return BadJson(problem, position=constant.start(), length=len(text))
    return BadJson(error.msg, position=error.pos, length=len(text))
