"""Taps that do as they are told, and connectors that run them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hakiri.sources.contract import Batch, Read
from hakiri.sources.singer import SingerConnector
from hakiri.sources.testing import Subject, maker
from hakiri.sources.testing.subject import arrive

TAPS = Path(__file__).with_name("taps")
STREAM = "things"
WHOLE, TEXT = {"type": ["null", "integer"]}, {"type": ["null", "string"]}

Step = Mapping[str, Any]


def properties(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"id": {"type": "integer"}, "text": TEXT, **more}}


def entry(stream: str = STREAM, schema: Any = None, **facts: Any) -> dict[str, Any]:
    """A stream of a catalog; `facts` are its metadata, with `_` for `-`."""
    said = {"table-key-properties": ["id"], **{name.replace("_", "-"): fact for name, fact in facts.items()}}
    return {
        "tap_stream_id": stream,
        "stream": stream,
        "schema": properties() if schema is None else schema,
        "metadata": [{"breadcrumb": [], "metadata": said}],
    }


def schema(stream: str = STREAM, **more: Any) -> Step:
    return say(type="SCHEMA", stream=stream, schema=properties(**more), key_properties=["id"])


def record(number: int, stream: str = STREAM, **values: Any) -> Step:
    return say(type="RECORD", stream=stream, record={"id": number, **values})


def state(value: Any) -> Step:
    return say(type="STATE", value=value)


def say(**message: Any) -> Step:
    return {"say": message}


def connector(
    root: Path,
    *steps: Step,
    streams: Sequence[Mapping[str, Any]] = (entry(),),
    discover: Sequence[Step] | None = None,
    config: Mapping[str, Any] | None = None,
    kind: type[SingerConnector] = SingerConnector,
    secrets: Mapping[str, str] | None = None,
    **more: Any,
) -> SingerConnector:
    """A connector to a tap that does these steps, and offers these streams; `more` is its own config."""
    found = {
        "tap": [sys.executable, str(TAPS / "steps.py")],
        "config": {
            "steps": list(steps),
            "discover": [say(streams=list(streams))] if discover is None else list(discover),
            **(config or {}),
        },
        **more,
    }
    return connected(root, found, kind=kind, secrets=secrets)


def connected(
    root: Path,
    config: Mapping[str, Any],
    *,
    kind: type[SingerConnector] = SingerConnector,
    secrets: Mapping[str, str] | None = None,
) -> SingerConnector:
    given = secrets or {}
    subject = Subject(make=maker(kind, config, secrets=tuple(given)), rows={}, root=root, secrets=given)
    made = arrive(subject).connector
    assert isinstance(made, SingerConnector)
    return made


def read(tap: SingerConnector, table: str = STREAM, **more: Any) -> list[Batch]:
    return list(tap.open(Read(table=table, **more)))


def rows(batches: Sequence[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows.to_pylist()]
