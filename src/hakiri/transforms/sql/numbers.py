"""Numbers as Spark reads them: `1` is an int, `1.5` a decimal, `1e3` a double, and letters say more."""

from __future__ import annotations

import struct
from decimal import Decimal
from math import isinf
from typing import TYPE_CHECKING

from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.nodes import expression
from hakiri.transforms.sql.types import MOST_DIGITS

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

_BITS = {"Y": 8, "S": 16, "L": 64}
_FIELDS = {"Y": "byte", "S": "short", "L": "long"}
_MOST_EXPONENT = 400


def read_number(cursor: Cursor, *, is_negative: bool) -> Expression:
    """The literal of the number that stands here."""
    text = cursor.token.text.upper()
    sign = "-" if is_negative else ""
    if text.endswith("BD"):
        node = _decimal(cursor, sign + text[:-2])
    elif text.endswith(("D", "F")):
        node = _floating(cursor, sign + text[:-1], is_single=text.endswith("F"))
    elif text[-1] in _BITS:
        node = _sized(cursor, sign + text[:-1], text[-1])
    elif "E" in text:
        node = _floating(cursor, sign + text, is_single=False)
    elif "." in text:
        node = _decimal(cursor, sign + text)
    else:
        node = _whole(cursor, sign + text)
    cursor.take()
    return node


def _whole(cursor: Cursor, text: str) -> Expression:
    if len(text) > MOST_DIGITS:
        return _decimal(cursor, text)
    node, value = expression(), int(text)
    if _fits(value, 32):
        node.literal.integer = value
    elif _fits(value, 64):
        node.literal.long = value
    else:
        return _decimal(cursor, text)
    return node


def _sized(cursor: Cursor, text: str, letter: str) -> Expression:
    # Python refuses to read very long numbers.
    if len(text) > MOST_DIGITS or not _fits(int(text), _BITS[letter]):
        cursor.fail(
            f"`{text[:MOST_DIGITS]}` does not fit into {_BITS[letter]} bits", "write a smaller number"
        )
    node = expression()
    setattr(node.literal, _FIELDS[letter], int(text))
    return node


def _fits(value: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _floating(cursor: Cursor, text: str, *, is_single: bool) -> Expression:
    node, value = expression(), float(text)
    if isinf(value) or (is_single and not _is_single(value)):
        cursor.fail(f"`{text}` is too large", "write a smaller number, or a decimal with `BD`")
    if is_single:
        node.literal.float = value
    else:
        node.literal.double = value
    return node


def _is_single(value: float) -> bool:
    try:
        struct.pack("f", value)
    except OverflowError:
        return False
    return True


def _decimal(cursor: Cursor, text: str) -> Expression:
    _, _, exponent = text.partition("E")
    if len(exponent) > len(str(_MOST_EXPONENT)) + 1 or abs(int(exponent or 0)) > _MOST_EXPONENT:
        cursor.fail(f"`{text}` is no decimal", f"write at most {MOST_DIGITS} digits")
    value = Decimal(text)
    _, digits, places = value.as_tuple()
    scale = max(-int(places), 0)
    precision = max(len(digits) + max(int(places), 0), scale)
    if precision > MOST_DIGITS:
        cursor.fail(
            f"the number has {precision} digits, and decimals have at most {MOST_DIGITS}",
            "write fewer digits, or a double with `D`",
        )
    node = expression()
    node.literal.decimal.value = f"{value:f}"
    node.literal.decimal.precision, node.literal.decimal.scale = precision, scale
    return node
