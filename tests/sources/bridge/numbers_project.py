"""A project with a connector of its own that counts, calls a server, and can fail in every way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.manifest import PipelineSpec
from hakiri.sources.contract import Table
from hakiri.sources.reading import OpenSource, open_source

CONNECTOR = """
from collections.abc import Iterator

import pyarrow as pa
from urllib.request import urlopen

from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Read, Table
from hakiri.sources.errors import AuthExpired, RateLimited

SCHEMA = pa.schema({"n": pa.int64(), "name": pa.large_string(), "at": pa.timestamp("ns", "UTC")})


class Config(SourceConfig):
    batch: int = 4
    calls: str = ""
    fails: str = ""


class Numbers(Connector):
    summary = "numbers"
    Config = Config

    def discover(self, only=None):
        return [Table(name="numbers", schema=SCHEMA, primary_key=("n",))]

    def open(self, read: Read) -> Iterator[Batch]:
        first, end = read.window.since, read.window.until
        for start in range(first, end, self.config.batch):
            if self.config.calls:
                with self.context.budget.turn(), urlopen(self.config.calls) as answer:
                    answer.read()
            self.fail(start - first)
            numbers = list(range(start, min(start + self.config.batch, end)))
            yield Batch(rows=rows(numbers), cursor={"n": numbers[-1]})
        yield Batch(rows=rows([]), cursor={"through": end})

    def fail(self, at):
        if self.config.fails == "secret" and at:
            raise ValueError(f"no way in with {self.context.secrets['MARK'].reveal()}")
        if self.config.fails == "limit" and at:
            raise RateLimited("the source wants a rest", seconds=17)
        if self.config.fails == "auth" and at:
            mark = self.context.secrets["MARK"].reveal()
            raise AuthExpired(f"{mark} was refused") from LookupError(f"{mark} is nobody")


def rows(numbers):
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers, pa.int64()),
            pa.array([f"number {n}" for n in numbers], pa.large_string()),
            pa.array([n * 1000 for n in numbers], pa.timestamp("ns", "UTC")),
        ],
        schema=SCHEMA,
    )
"""


@dataclass(frozen=True)
class NumbersProject:
    """What a source needs of a project."""

    root: Path

    def place_of(self, pipeline_id: str) -> Place:
        return Place("hakiri.toml", 5)


def numbers_project(root: Path) -> NumbersProject:
    (root / "connectors").mkdir(parents=True)
    (root / "connectors" / "numbers.py").write_text(CONNECTOR)
    return NumbersProject(root)


def line_of(text: str) -> Place:
    """Where this stands in the connector, as it is told to its author."""
    line = next(number for number, line in enumerate(CONNECTOR.splitlines(), 1) if text in line)
    return Place("connectors/numbers.py", line)


@contextmanager
def open_numbers(
    project: NumbersProject, secret: str, advertised: str | None = None, **config: Any
) -> Iterator[OpenSource]:
    """The source of numbers, with `secret` as the value of MARK."""
    with open_source(
        numbers_spec(**config),
        project=project,
        env={"MARK": secret},
        clock=SystemClock(),
        advertised=advertised,
    ) as source:
        yield source


def numbers_table(source: OpenSource) -> Table:
    return source.table("numbers", Place("hakiri.toml", 5))


def numbers_spec(*, rate: str | None = None, **config: object) -> PipelineSpec:
    return PipelineSpec.model_validate_json(
        json.dumps(
            {
                "id": "counting",
                "source": {"connector": "numbers", "config": config},
                "tables": ["numbers"],
                "secrets": ["MARK"],
                "backfill": {"rate_budget": rate} if rate else {},
            }
        )
    )
