"""Who looks at a store after every crash, and says which promise is broken.

What was committed is known from the catalog, what is in it from the source, and what readers see from stock
DuckDB. The code that writes and publishes is not asked.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.protocol_lab_source import Change, Recipe, Row, Source, piece_key

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.ids import ChunkId, PipelineId, TableName

if TYPE_CHECKING:
    import duckdb

PIPELINE = PipelineId("p")
STORED = TableName("listed_items")
MANIFEST = "_manifest.json"
SEEN = f'SELECT id, epoch_us("at"), part, v FROM store.{STORED} ORDER BY ALL'
# So many commits that no view has shown yet can be told apart; there are never more than a few.
_MOST_UNSHOWN = 10
Seen = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A chunk that is done, and what its rows must be."""

    chunk: ChunkId
    seq: int
    winner: str
    moment: Any
    rows: tuple[Change, ...]
    pass_number: int | None
    pass_size: int | None

    @property
    def unit(self) -> Any:
        """What is the same for chunks of one transaction."""
        return self.moment


@dataclass(slots=True, kw_only=True)
class Judge:
    """Follows one store through its crashes."""

    root: Path
    catalog: Catalog
    source: Source
    reader: duckdb.DuckDBPyConnection
    landed: dict[ChunkId, Landed] = field(default_factory=dict)
    shown: frozenset[ChunkId] = frozenset()
    shown_before: frozenset[ChunkId] = frozenset()
    attempts: Counter[ChunkId] = field(default_factory=Counter)
    reads: int = 0

    @property
    def recipe(self) -> Recipe:
        return self.source.recipe

    def judge(self, *, has_ended: bool) -> list[str]:
        """What is broken now. `has_ended`: the last who worked came to its end and left nothing undone."""
        chunks = self._chunks()
        self.shown_before, done_before = self.shown, frozenset(self.landed)
        found = [*map(str, self.catalog.check()), *self._land(chunks), *self._judge_cursors(chunks)]
        found += self._judge_reads(chunks, done_before)
        found += self._judge_view(has_ended=has_ended)
        if has_ended:
            found += [
                f"chunk {chunk.chunk} is {chunk.status}"
                for chunk in chunks
                if chunk.status is not ChunkStatus.DONE
            ]
        return found

    def judge_end(self) -> list[str]:
        """What is broken when all is done: readers see what the source has, as if nothing had happened."""
        seen, wanted = self._seen(), _as_seen(self.source.rows.values())
        return [] if seen == wanted else [f"of what the source has, {_difference(seen, wanted)}"]

    def judge_runs(self) -> list[str]:
        """What is broken when somebody has worked to the end: all who died before are known to be dead."""
        runs = self.catalog.runs.latest(PIPELINE)
        return [f"run {run.run} has not ended" for run in runs if not run.status.has_ended]

    def look(self) -> Seen | str:
        """What a reader sees in this moment, while others work, or why it sees nothing."""
        try:
            return self._seen()
        except Exception as error:  # whatever it is, a reader must not see it
            return f"a reader was told: {error}"

    def judge_look(self, seen: Seen | str) -> list[str]:
        """Whether a look in between was one at whole commits: some of those that are there by now."""
        if isinstance(seen, str):
            return [seen]
        if self._shows_one_of(seen, self._candidates(self.shown_before)) is None:
            everything = self._rows_of(self.landed)
            return [f"in between, of what any commits make up, {_difference(seen, everything)}"]
        return []

    def _chunks(self) -> tuple[Chunk, ...]:
        return self.catalog.chunks.page(PIPELINE)

    def _land(self, chunks: Iterable[Chunk]) -> Iterator[str]:
        """Take note of what is done by now; what is wrong with its files."""
        done = {chunk.chunk: chunk for chunk in chunks if chunk.winning_attempt is not None}
        for lost in self.landed.keys() - done.keys():
            yield f"chunk {lost} was done, and is not any more"
        for chunk in done.values():
            known = self.landed.get(chunk.chunk)
            if known is not None and known.winner != chunk.winning_attempt:
                yield f"chunk {chunk.chunk} was won by {known.winner}, and now by {chunk.winning_attempt}"
            landed = known or self._landed(chunk)
            self.landed[chunk.chunk] = landed
            yield from self._judge_files(chunk, landed, is_new=known is None)

    def _landed(self, chunk: Chunk) -> Landed:
        said = json.loads(chunk.manifest or "{}")
        piece = json.loads(chunk.predicate)
        limit = self.recipe.segment_rows if piece["kind"] in ("segment", "tail") else None
        rows = () if said["unchanged"] else tuple(self.source.read(piece, limit))
        return Landed(
            chunk=chunk.chunk,
            seq=chunk.seq or 0,
            winner=chunk.winning_attempt or "",
            moment=chunk.completed_at,
            rows=rows,
            pass_number=said["pass"],
            pass_size=said["pass_size"],
        )

    def _judge_files(self, chunk: Chunk, landed: Landed, *, is_new: bool) -> Iterator[str]:
        """Everything that a commit speaks of is there, and nothing of it is a half."""
        said = json.loads(chunk.manifest or "{}")
        runs = self.root / "tables" / chunk.table / "data" / "runs"
        node, attempt = landed.winner.split("/")
        folder = runs / (chunk.run or "") / node / f"chunk-{chunk.chunk}" / attempt
        manifest = folder / MANIFEST
        if not manifest.exists() or manifest.read_text() != chunk.manifest:
            yield f"chunk {chunk.chunk} is committed, and {manifest} does not say so"
        if is_new and chunk.rows != len(landed.rows):
            yield f"chunk {chunk.chunk} is committed with {chunk.rows} rows of {len(landed.rows)}"
        for file in said["files"]:
            path = folder / file["name"]
            if not path.exists():
                yield f"chunk {chunk.chunk} is committed, and {path} is gone"
            elif hashlib.sha256(path.read_bytes()).hexdigest() != file["sha256"]:
                yield f"chunk {chunk.chunk} is committed, and {path} is another file"

    def _judge_cursors(self, chunks: Iterable[Chunk]) -> Iterator[str]:
        """A stream's cursor is that of the newest committed chunk that moves it: not behind, not ahead."""
        expected: dict[str, tuple[int, str]] = {}
        for chunk in chunks:
            piece = json.loads(chunk.predicate)
            is_open = piece["kind"] in ("segment", "tail") or (
                piece["kind"] == "window" and "until" not in piece["window"]
            )
            if chunk.winning_attempt is None or chunk.cursor_committed is None or not is_open:
                continue
            part = piece.get("partition", {}).get("part")
            stream = f"{chunk.table}#part={part}" if part else chunk.table
            newest = (chunk.seq or 0, chunk.cursor_committed)
            expected[stream] = max(expected.get(stream, newest), newest)
        kept = {cursor.table: cursor.value for cursor in self.catalog.cursors.all(PIPELINE)}
        wanted = {stream: value for stream, (_, value) in expected.items()}
        if kept != wanted:
            yield f"the cursors are {kept}, and what is committed leads to {wanted}"

    def _judge_reads(self, chunks: Sequence[Chunk], done_before: Collection[ChunkId]) -> Iterator[str]:
        """Whatever was read since the last look belongs to a claim of a chunk that was not done before."""
        noted = self.source.noted()
        reads = Counter(noted[self.reads :])
        self.reads = len(noted)
        allowed: Counter[str] = Counter()
        for chunk in chunks:
            claims = chunk.attempts - self.attempts[chunk.chunk]
            self.attempts[chunk.chunk] = chunk.attempts
            if claims and chunk.chunk in done_before:
                yield f"chunk {chunk.chunk} was done, and was claimed again"
            allowed[piece_key(chunk.predicate)] += claims
        for key, count in (reads - allowed).items():
            yield f"{key} was read {count} times more than somebody had claimed it"

    def _judge_view(self, *, has_ended: bool) -> Iterator[str]:
        seen = self.look()
        if isinstance(seen, str):
            yield seen
            return
        everything = frozenset(self.landed)
        if has_ended:
            if seen != self._rows_of(everything):
                yield f"of what is committed, {_difference(seen, self._rows_of(everything))}"
            self.shown = everything
            return
        shown = self._shows_one_of(seen, self._candidates(self.shown))
        if shown is None:
            yield f"of what any commits make up, {_difference(seen, self._rows_of(everything))}"
        else:
            self.shown = shown

    def _candidates(self, shown: frozenset[ChunkId]) -> Iterator[frozenset[ChunkId]]:
        """Every set of whole commits that holds what was shown before. Passes may go out of sight."""
        units: dict[Any, set[ChunkId]] = {}
        for landed in self.landed.values():
            if landed.chunk not in shown:
                units.setdefault(landed.unit, set()).add(landed.chunk)
        newest = sorted(units, reverse=True)[:_MOST_UNSHOWN]
        older = shown.union(*(units[unit] for unit in units if unit not in newest))
        subsets = chain.from_iterable(combinations(newest, size) for size in range(len(newest) + 1))
        if older != shown:
            yield shown
        yield from (older.union(*(units[unit] for unit in subset)) for subset in subsets)

    def _shows_one_of(
        self, seen: Seen, candidates: Iterable[frozenset[ChunkId]]
    ) -> frozenset[ChunkId] | None:
        return next((chunks for chunks in candidates if self._rows_of(chunks) == seen), None)

    def _rows_of(self, chunks: Collection[ChunkId]) -> Seen:
        """What readers are to see when exactly these chunks are committed."""
        landed = sorted((self.landed[chunk] for chunk in chunks), key=lambda each: each.seq)
        if self.recipe.has_key:
            rows: dict[int, Row] = {}
            for change in chain.from_iterable(each.rows for each in landed):
                if change.is_delete:
                    rows.pop(change.row.id, None)
                else:
                    rows[change.row.id] = change.row
            return _as_seen(rows.values())
        if self.recipe.is_pass:
            landed = _newest_pass(landed)
        return _as_seen(change.row for each in landed for change in each.rows)

    def _seen(self) -> Seen:
        path = self.root / "duck.db"
        if not path.exists():
            return ()
        self.reader.execute(f"ATTACH '{path}' AS store (READ_ONLY)")
        try:
            return tuple(self.reader.execute(SEEN).fetchall())
        finally:
            self.reader.execute("DETACH store")


def _newest_pass(landed: Sequence[Landed]) -> list[Landed]:
    """The chunks of the newest pass that is complete, or else of the newest that has begun."""
    sizes = Counter(each.pass_number for each in landed)
    complete = [each.pass_number for each in landed if sizes[each.pass_number] == each.pass_size]
    newest = max(complete or sizes or [0], key=lambda number: number or 0)
    return [each for each in landed if each.pass_number == newest]


def _difference(seen: Seen, wanted: Seen) -> str:
    """How what readers see is wrong, in a line that can be read."""
    missing, extra = Counter(wanted) - Counter(seen), Counter(seen) - Counter(wanted)
    return f"readers do not see {sorted(missing.elements())}, and see {sorted(extra.elements())} besides"


def _as_seen(rows: Iterable[Row]) -> Seen:
    return tuple(sorted((row.id, int(row.at.timestamp()) * 1_000_000, row.part, row.v) for row in rows))
