"""Workers on a store that are real processes with Spark sessions of their own, to be killed and stopped.

A nursery is a process without threads in which everything is imported; workers are forked off it, so that
one is at work within a moment. All of them use the one server that the tests share.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.support.crashes import UNHARMED, Kill, forked
from tests.support.faults import kill_this_process
from tests.support.runtime import Lab
from tests.support.victims import SERVER, start, state_of

from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.leases import LEASE_TTL
from hakiri.catalog.errors import LeaseLost
from hakiri.core.ids import NodeId
from hakiri.pipelines.events import ChunkCommitted, Event
from hakiri.pipelines.runtime.ground import CHUNKS_AT_ONCE
from hakiri.pipelines.runtime.sessions import Sessions
from hakiri.pipelines.runtime.steps import Step

SEGMENT_ROWS = 20
STORED = "counted_items"
SEEN = f"SELECT id, part, v FROM {STORED} ORDER BY ALL"
_LOOK_SECONDS = 0.02
Look = tuple[tuple[Any, ...], ...] | str


@contextmanager
def joined(server: str) -> Iterator[Any]:
    """A session of its own on a server that others use as well."""
    from hakiri.engine.connect import connect

    spark = connect(server)
    try:
        yield spark
    finally:
        spark.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What a worker does: apply the project, or run its pipeline, until it dies or comes to its end.

    `dies_after` is a number of committed chunks; `stops_at` is a step at which it is as if frozen, once.
    """

    root: Path
    server: str
    node: str
    kill: Kill = UNHARMED
    is_tick: bool = False
    catalog_url: str = "sqlite:///store/shop/meta.sqlite"
    lease: timedelta = LEASE_TTL
    chunks_at_once: int = CHUNKS_AT_ONCE
    dies_after: int | None = None
    stops_at: Step | None = None

    def work(self) -> None:
        left = self.dies_after
        is_stopped = False

        def listen(event: Event) -> None:
            nonlocal left
            if isinstance(event, ChunkCommitted) and left is not None:
                left -= 1
                if left == 0:
                    kill_this_process()

        def inform(step: Step) -> None:
            nonlocal is_stopped
            if step is self.stops_at and not is_stopped:
                is_stopped = True
                # To this very thread, which then goes no step further; another one would take its time.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

        lab = Lab(root=self.root, spark=None, catalog_url=self.catalog_url)
        with Sessions(lambda: joined(self.server)) as sessions:
            changes: dict[str, Any] = {
                "sessions": sessions,
                "node": NodeId(self.node),
                "listen": listen,
                "reached": self.kill.reached(inform),
                "lease": self.lease,
                "chunks_at_once": self.chunks_at_once,
                "segment_rows": SEGMENT_ROWS,
            }
            applied = [lab.run("p", **changes)] if self.is_tick else lab.apply(**changes)
        for each in applied:
            # Whoever has slept too long is told so; what others did meanwhile counts.
            if each.error is not None and not isinstance(each.error, LeaseLost):
                raise each.error


class Nursery:
    """Starts workers, and waits for them."""

    def __init__(self, asked: Connection) -> None:
        self._asked = asked

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Nursery]:
        ours, theirs = SERVER.Pipe()
        process = start(_nurse, folder, theirs)
        theirs.close()
        try:
            yield cls(ours)
        finally:
            ours.send(None)
            process.join()
            process.close()
            ours.close()

    def start(self, worker: Worker) -> int:
        """The process number of a worker that has begun."""
        self._asked.send(("start", worker))
        return int(self._asked.recv())

    def ended(self, pid: int, kill: Kill = UNHARMED) -> int:
        """Wait until the worker is dead, and kill it if its time has come; how it ended, as `wait` says.

        Raises AssertionError with what it raised if it came to a bad end of its own.
        """
        self._asked.send(("wait", pid, kill.seconds))
        code, trouble = self._asked.recv()
        assert code in (0, -signal.SIGKILL), f"a worker ended with {code}\n{trouble}"
        return int(code)

    def work(self, worker: Worker) -> int:
        return self.ended(self.start(worker), worker.kill)

    def is_stopped(self, pid: int) -> bool:
        return state_of(pid) == "T"

    def has_ended(self, pid: int) -> bool:
        """Whether it is dead, and only waited for."""
        return state_of(pid) == "Z"


def _nurse(folder: Path, asked: Connection) -> None:
    for name in ("pandas", "pyarrow.pandas_compat", "pyspark.sql.connect.session"):
        importlib.import_module(name)
    assert threading.active_count() == 1
    workers: set[int] = set()
    try:
        while (order := asked.recv()) is not None:
            if order[0] == "start":
                worker: Worker = order[1]
                pid = forked(worker.work, folder / f"trouble-{worker.node}")
                workers.add(pid)
                asked.send(pid)
            else:
                _, pid, seconds = order
                if seconds is not None:
                    threading.Event().wait(seconds)
                    os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                workers.remove(pid)
                trouble = "\n".join(path.read_text() for path in folder.glob("trouble-*"))
                asked.send((os.waitstatus_to_exitcode(status), trouble))
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)


@contextmanager
def reading(root: Path) -> Iterator[Callable[[], list[list[Look]]]]:
    """Another process that reads the store all the while: through `duck.db`, and through the view's text.

    Gives what it saw so far in either way, each time that it was something else than before.
    """
    ours, theirs = SERVER.Pipe()
    process = start(_read_all_the_while, root, theirs)
    theirs.close()

    def looks() -> list[list[Look]]:
        ours.send("looks")
        return list(ours.recv())

    try:
        assert ours.recv() == "reading"
        yield looks
    finally:
        ours.send(None)
        process.join()
        process.close()
        ours.close()


def _read_all_the_while(root: Path, asked: Connection) -> None:
    ways: list[list[Look]] = [[], []]
    asked.send("reading")
    while True:
        is_asked = asked.poll(_LOOK_SECONDS)
        if is_asked and asked.recv() is None:
            os._exit(0)
        for looks, read in zip(ways, (_through_file, _through_text), strict=True):
            look = _looked(root, read)
            if look is not None and (not looks or looks[-1] != look):
                looks.append(look)
        if is_asked:
            asked.send(ways)


def _looked(root: Path, read: Callable[[Path], Look | None]) -> Look | None:
    try:
        return read(root)
    except Exception as error:  # whatever it is, a reader must not see it
        return f"a reader was told: {error}"


def _through_file(root: Path) -> Look | None:
    import duckdb

    file = root / "duck.db"
    if not file.exists():
        return None
    with duckdb.connect(file, read_only=True, config={"threads": 1}) as connection:
        return tuple(connection.execute(SEEN).fetchall())


def _through_text(root: Path) -> Look | None:
    import duckdb

    text = root / "views" / f"{STORED}.sql"
    if not text.exists():
        return None
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(text.read_text())
        return tuple(connection.execute(SEEN).fetchall())


def broken_looks(looks: Iterable[Look], chunks: Iterable[Chunk], root: Path) -> list[str]:
    """What readers saw that is not made of whole chunks, each once, with rows never going away again."""
    import pyarrow.parquet as pq

    whole: dict[int, set[Any]] = {}
    for chunk in chunks:
        said = json.loads(chunk.manifest or '{"files":[]}')
        node, attempt = (chunk.winning_attempt or "/").split("/")
        place = f"tables/{STORED}/data/runs/{chunk.run}/{node}/chunk-{chunk.chunk}/{attempt}"
        paths = [root / place / file["name"] for file in said["files"]]
        whole[chunk.chunk] = {row for path in paths for row in pq.read_table(path)["id"].to_pylist()}
    found = []
    before = 0
    for look in looks:
        if isinstance(look, str):
            found.append(look)
            continue
        seen = Counter(row[0] for row in look)
        found += [f"row {row} is seen {times} times" for row, times in seen.items() if times > 1]
        halves = [number for number, rows in whole.items() if 0 < len(rows & seen.keys()) < len(rows)]
        found += [f"a half of chunk {number} is seen" for number in halves]
        stray = seen.keys() - set[Any]().union(*whole.values())
        found += [f"rows {sorted(stray)} are seen, and are of no chunk"] if stray else []
        found += [f"{before} rows were seen, and then {len(look)}"] if len(look) < before else []
        before = len(look)
    return found


def read_key(predicate: str) -> str:
    """A chunk's predicate as the counted source notes the read of it."""
    said = json.loads(predicate)
    window = said.get("window")
    ends = None if window is None else [window.get("since"), window.get("until")]
    return json.dumps([ends, said.get("after"), said.get("partition", {})])


def fetched_too_often(reads: Iterable[dict[str, Any]], chunks: Iterable[Chunk]) -> list[str]:
    """Reads that nobody had claimed: a claim is read once, and what is done is claimed no more."""
    claims: Counter[str] = Counter()
    for chunk in chunks:
        claims[read_key(chunk.predicate)] += chunk.attempts
    seen = Counter(json.dumps([read["window"], read["cursor"], read["partition"]]) for read in reads)
    return [f"{key} was read {count} times too often" for key, count in (seen - claims).items()]
