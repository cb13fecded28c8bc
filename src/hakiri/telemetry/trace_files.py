"""Traces as files: a JSON object a line for every span in the order they ended, at last the sums.

One file a run, named by its trace, under the store's `traces/`. Nothing depends on them: they may be
deleted at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hakiri.telemetry.outlet import Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """Something that happened at one moment inside a span."""

    name: str
    at: datetime
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpan:
    """One span that ended. `error` is what it says went wrong, None if all went well."""

    name: str
    trace: str
    span: str
    parent: str | None
    start: datetime
    end: datetime
    error: str | None
    attributes: Attributes
    events: tuple[TraceEvent, ...] = ()

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A trace file as it was read. `metrics` is None when the run did not live to write them."""

    spans: tuple[TraceSpan, ...]
    metrics: Mapping[str, Mapping[str, float]] | None
    unreadable_lines: int = 0
    """Those that a crash or a full disk cut off."""


def trace_path(folder: Path, trace: str) -> Path:
    """The file of a trace."""
    return folder / f"{trace}.jsonl"


def append_line(path: Path, line: Mapping[str, object]) -> None:
    """Add one line in one write, so that it is whole or, after a crash, the torn last one."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    with path.open("ab", buffering=0) as file:
        file.write(f"{text}\n".encode(errors="replace"))


def line_of(span: TraceSpan) -> dict[str, object]:
    """The span as it stands in a file, with what a person looks for first in front."""
    line: dict[str, object] = {
        "name": span.name,
        "start": _text_of(span.start),
        "end": _text_of(span.end),
        "seconds": round(span.seconds, 6),
        "status": "ok" if span.error is None else "error",
    }
    if span.error is not None:
        line["error"] = span.error
    line["attributes"] = dict(span.attributes)
    if span.events:
        line["events"] = [
            {"name": event.name, "at": _text_of(event.at), "attributes": dict(event.attributes)}
            for event in span.events
        ]
    return line | {"trace": span.trace, "span": span.span, "parent": span.parent}


def read_trace(path: Path) -> Trace:
    """What the file holds; raises OSError when there is none."""
    spans, metrics, unreadable = [], None, 0
    for text in path.read_bytes().splitlines():
        try:
            line = json.loads(text)
            if "metrics" in line:
                metrics = {name: dict(sums) for name, sums in line["metrics"].items()}
            else:
                spans.append(_span_of(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            unreadable += 1
    return Trace(spans=tuple(spans), metrics=metrics, unreadable_lines=unreadable)


def _span_of(line: Mapping[str, Any]) -> TraceSpan:
    return TraceSpan(
        name=line["name"],
        trace=line["trace"],
        span=line["span"],
        parent=line["parent"],
        start=datetime.fromisoformat(line["start"]),
        end=datetime.fromisoformat(line["end"]),
        error=line.get("error"),
        attributes=line["attributes"],
        events=tuple(
            TraceEvent(
                name=event["name"], at=datetime.fromisoformat(event["at"]), attributes=event["attributes"]
            )
            for event in line.get("events", ())
        ),
    )


def _text_of(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
