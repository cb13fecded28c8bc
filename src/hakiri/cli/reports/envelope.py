"""One way from a report to JSON: `{"schema_version": 1, …fields}`."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any

from hakiri.cli.values import moment_text

SCHEMA_VERSION = 1


def to_envelope(report: object) -> dict[str, Any]:
    """The report's fields behind the version of their shape."""
    if not is_dataclass(report) or isinstance(report, type):
        raise TypeError(f"a report is a dataclass, not {type(report).__name__}")
    return {"schema_version": SCHEMA_VERSION, **asdict(report)}


def to_json(report: object) -> str:
    """The envelope on one line, in ASCII so that every terminal and pipe can carry it."""
    return json.dumps(to_envelope(report), default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"a report cannot hold {type(value).__name__}")
