"""How a value of a table is shown: to a person in a cell, and to a program in JSON."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

# A control sign in somebody's data must not move the cursor of the terminal that shows it.
_SIGNS = {code: chr(0x2400 + code) for code in range(32)}
_VISIBLE = {**_SIGNS, **dict.fromkeys(range(0x7F, 0xA0), "\ufffd"), ord("\n"): "⏎"}


def json_value(value: object) -> Any:
    """The value in JSON's types without loss: what JSON cannot say exactly becomes a text."""
    match value:
        case None | bool() | int() | str():
            plain: Any = value
        case float():
            plain = value if math.isfinite(value) else str(value)
        case Decimal():
            plain = f"{value:f}"
        case datetime():
            plain = moment_text(value)
        case date() | time():
            plain = value.isoformat()
        case bytes():
            plain = base64.b64encode(value).decode("ascii")
        case dict():
            plain = {str(key): json_value(item) for key, item in value.items()}
        case list() | tuple():
            plain = [json_value(item) for item in value]
        case _:
            plain = str(value)
    return plain


def moment_text(moment: datetime) -> str:
    """The moment as every report has it: in UTC and with a `Z`, or without one if it has no offset."""
    if moment.tzinfo is None:
        return moment.isoformat()
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def shown_cell(value: object) -> str:
    """The value on one line; NULL is told apart from an empty text and from the text `null`."""
    if value is None:
        return "∅"
    if isinstance(value, str):
        return value.translate(_VISIBLE)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    plain = json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
