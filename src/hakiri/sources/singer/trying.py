"""A tap by hand, without a project: its streams, some rows, or all of them as Parquet."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq

from hakiri.core.clock import Clock
from hakiri.core.errors import Place
from hakiri.core.secrets import take_secrets
from hakiri.sources.budget import NoBudget
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Context, Read, Table
from hakiri.sources.describing import example_block, secrets_in
from hakiri.sources.failures import failures_told
from hakiri.sources.singer.config import SingerConfig
from hakiri.sources.singer.connector import SingerConnector
from hakiri.sources.singer.credentials import taken_apart
from hakiri.sources.singer.reading import STATE_KEY

CONNECTOR = "singer"
_PLACE = Place("command line")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A tap that is tried, and the config of a pipeline that does the same, without any secret in it."""

    connector: SingerConnector
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was read of a stream: some rows as Python values, or a file with all; and the state after them."""

    table: Table
    rows: tuple[tuple[Any, ...], ...] = ()
    rows_read: int
    file: Path | None = None
    state: Any = None

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and Arrow type of each column."""
        return columns_of(self.table)


@contextmanager
def try_tap(
    tap: str,
    config: Mapping[str, Any],
    *,
    root: Path,
    env: Mapping[str, str],
    clock: Clock,
    is_old: bool,
    on_log: Callable[[str], None],
) -> Iterator[Attempt]:
    """The tap with its own config until the block ends. `${NAME}` in it is a variable of `env`.

    Secrets that are written out in the config are kept out of everything that is said, like those by name.
    """
    names = secrets_in(config)
    secrets = dict(take_secrets(names, env, wanted_by=f"the config of `{Path(tap).name}`"))
    apart = taken_apart(config, secrets)
    whole = {"tap": tap, **({"config": apart} if apart else {}), **({"properties": True} if is_old else {})}
    checked = read_config(SingerConfig, whole, connector=CONNECTOR, place=_PLACE, secrets=tuple(secrets))
    context = Context(root=root, secrets=secrets, budget=NoBudget(), clock=clock, wait=threading.Event().wait)
    with failures_told(SingerConnector, CONNECTOR, root, _PLACE, secrets.values()):
        connector = SingerConnector(checked, context)
        connector.watch_log(on_log)
        try:
            yield Attempt(connector=connector, config=whole)
        finally:
            connector.close()


def take_rows(connector: SingerConnector, table: Table, state: Any, *, rows: int) -> Taken:
    """The first rows of a stream; the tap is ended after them."""
    taken: list[tuple[Any, ...]] = []
    for batch in _batches(connector, table, state, limit=rows):
        cells = [column.to_pylist(maps_as_pydicts="strict") for column in batch.rows.columns]
        taken += zip(*cells, strict=True)
    return Taken(table=table, rows=tuple(taken[:rows]), rows_read=min(rows, len(taken)))


def write_rows(connector: SingerConnector, table: Table, state: Any, file: Path) -> Taken:
    """All rows of a stream as one Parquet file, which is there as a whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    count = 0
    try:
        with pq.ParquetWriter(part, table.schema, compression="zstd") as writer:
            for batch in _batches(connector, table, state, limit=None):
                writer.write_batch(batch.rows)
                count += batch.rows.num_rows
                state = batch.cursor[STATE_KEY] if batch.cursor is not None else state
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return Taken(table=table, rows_read=count, file=file, state=state)


def columns_of(table: Table) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, str(field.type)) for field in table.schema)


def file_of(folder: Path, stream: str) -> Path:
    """Where a stream is written; its name may hold what a file's may not."""
    return folder / f"{quote(stream, safe=' ')}.parquet"


def pipeline_block(config: Mapping[str, Any], tables: Sequence[str]) -> str:
    """A pipeline for the manifest that reads these streams."""
    name = Path(str(config["tap"])).name.removeprefix("tap-").lower()
    pipeline = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    pipeline = pipeline if pipeline[:1].isalpha() else "tap"
    return example_block(CONNECTOR, config, pipeline=pipeline, tables=tuple(tables))


def _batches(connector: SingerConnector, table: Table, state: Any, *, limit: int | None) -> Iterator[Batch]:
    cursor = None if state is None else {STATE_KEY: state}
    reading = connector.open(Read(table=table.name, schema=table.schema, cursor=cursor, limit=limit))
    with closing(reading):  # type: ignore[type-var]
        yield from reading
