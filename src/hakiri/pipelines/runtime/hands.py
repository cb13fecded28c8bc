"""From claimed chunks of a table to committed ones: read and write them in one job, check, commit, go on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hakiri.catalog.contract.chunks import Chunk, ChunkAttempt, NewChunk
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName
from hakiri.engine import as_ours
from hakiri.engine.errors import SparkUnreachable
from hakiri.pipelines.chunks.joining import group_cap, in_turns
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, reads, stream_name
from hakiri.pipelines.chunks.streaming import follow_up, lane_of
from hakiri.pipelines.chunks.wording import describe
from hakiri.pipelines.events import ChunkCommitted
from hakiri.pipelines.runtime.commits import Finished, Protocolist
from hakiri.pipelines.runtime.course import Course
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.jobs import Assignment, Gathered, TableJob
from hakiri.pipelines.runtime.lanes import Lanes
from hakiri.pipelines.runtime.publishing import Publishing
from hakiri.pipelines.runtime.steps import Step
from hakiri.pipelines.runtime.sweeping import swept
from hakiri.pipelines.runtime.tables import TableWork
from hakiri.pipelines.runtime.tally import RunTally
from hakiri.store.manifests import AttemptManifest, Counts
from hakiri.store.snapshots import Place, SnapshotManifest

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

# How far back a chunk of the same stream is looked for, to see whether anything has changed.
_LOOK_BACK = 50


@dataclass(kw_only=True)
class TableHands:
    """Works on the chunks of one table of one run. Safe for several threads."""

    ground: Ground
    pipeline: str
    work_on: TableWork
    open_job: Callable[[], TableJob]
    protocol: Protocolist
    publishing: Publishing
    lease: Lease | None
    tally: RunTally
    course: Course
    _job: TableJob | None = None
    _may_join: bool | None = None
    _is_limited: bool = True
    _lanes: Lanes = field(default_factory=Lanes)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def largest_group(self) -> int:
        most = group_cap(self.most_at_once())
        return most if most > 1 and self._joins() else 1

    def most_at_once(self) -> int | None:
        return self.work_on.knobs.parallelism.value

    def describe(self, attempt: ChunkAttempt) -> str:
        return describe(Piece.parse(attempt.predicate))

    def work(self, attempts: Sequence[ChunkAttempt]) -> None:
        for some in in_turns(attempts, self._lane):
            with self._lanes.held({lane for attempt in some if (lane := self._lane(attempt)) is not None}):
                self._work(some)

    def _lane(self, attempt: ChunkAttempt) -> str | None:
        return lane_of(Piece.parse(attempt.predicate), self.work_on.kind, self.work_on.store)

    def _work(self, attempts: Sequence[ChunkAttempt]) -> None:
        job = self._opened()
        began, waited = self.ground.clock.monotonic(), job.waited_seconds
        with self.course.reading():
            gathered = self._read(job, attempts)
        with self.course.writing():
            self.ground.reached(Step.JOB_DONE)
            follow_ups = [self._follow_up(each) for each in gathered]
            finished = [
                self._finished(each, goes_on=on is not None)
                for each, on in zip(gathered, follow_ups, strict=True)
            ]
            self.ground.reached(Step.COUNTS_AGREED)
            self.protocol.commit(self.work_on, finished, self.lease)
        seconds = self.ground.clock.monotonic() - began
        self._went_on(finished, follow_ups, seconds, min(seconds, job.waited_seconds - waited))

    def _read(self, job: TableJob, attempts: Sequence[ChunkAttempt]) -> list[Gathered]:
        session = job.spark
        try:
            assignments = [self._assigned(attempt) for attempt in attempts]
            self.ground.reached(Step.JOB_STARTED)
            return self._gathered(job, assignments)
        except Exception as error:
            told = as_ours(error)
            if isinstance(told, SparkUnreachable):
                self._lose(session)
            if told is error:
                raise
            raise told from error

    def _opened(self) -> TableJob:
        with self._lock:
            if self._job is None:
                self._job = self.open_job()
            return self._job

    def _lose(self, session: SparkSession) -> None:
        self.ground.sessions.lose(session)
        with self._lock:
            self._job = None

    def _joins(self) -> bool:
        if self._may_join is None:
            self._may_join = self._opened().may_join()
        return self._may_join

    def _gathered(self, job: TableJob, assignments: Sequence[Assignment]) -> list[Gathered]:
        sweeps = [each for each in assignments if each.piece.kind is PieceKind.SWEEP]
        if sweeps:
            return [swept(self.ground, job, self.work_on, each) for each in assignments]
        gathered = job.gather(assignments)
        if job.is_native or not any(_is_broken_off(each) and each.cursor is None for each in gathered):
            return gathered
        # A source that stops at the limit without saying from where to go on is read in one go.
        self._is_limited = False
        for each in assignments:
            shutil.rmtree(each.folder, ignore_errors=True)
        return job.gather([replace(each, read=replace(each.read, limit=None)) for each in assignments])

    def _assigned(self, attempt: ChunkAttempt) -> Assignment:
        piece = Piece.parse(attempt.predicate)
        read = reads(
            piece,
            table=self.work_on.table.name,
            incremental=self.work_on.cursor,
            schema=self.work_on.table.schema,
            limit=self._limit(attempt, piece),
        )
        folder = self.ground.layout.attempt_folder(
            table=attempt.table,
            run=attempt.run,
            node=attempt.node,
            chunk=attempt.chunk,
            number=attempt.number,
        )
        return Assignment(attempt=attempt, piece=piece, read=read, folder=folder)

    def _limit(self, attempt: ChunkAttempt, piece: Piece) -> int | None:
        """How many rows to stop after. A snapshot is read as a whole, as is what cannot be gone on with.

        So is what takes the place of other chunks in a table without a key: readers see it when it is done,
        and would miss what a chunk behind it is still to bring. Passes are seen when all of them is there.
        """
        is_snapshot = self.work_on.kind is CursorKind.SNAPSHOT_ID and piece.after is None
        has_parts = self.work_on.primary_key or piece.pass_number is not None
        is_whole = is_snapshot or (attempt.reread is not None and not has_parts)
        return self.ground.segment_rows if self._is_limited and not is_whole else None

    def _follow_up(self, gathered: Gathered) -> Piece | None:
        """What goes on where the read was broken off. Raises NoProgress, before anything is committed."""
        if self._opened().is_native:
            return None
        assignment = gathered.assignment
        return follow_up(assignment.piece, gathered.read, gathered.cursor, assignment.read.limit)

    def _finished(self, gathered: Gathered, *, goes_on: bool) -> Finished:
        assignment = gathered.assignment
        piece = assignment.piece
        return Finished(
            attempt=assignment.attempt,
            folder=assignment.folder,
            files=gathered.files,
            quarantine=gathered.quarantine,
            counts=Counts(
                read=gathered.read,
                filtered=gathered.filtered,
                written=gathered.written,
                quarantined=gathered.quarantined,
            ),
            content_sum=gathered.content_sum,
            cursor=gathered.cursor,
            stream=TableName(stream_name(self.work_on.store, piece.partition)),
            moves_stream=piece.is_open and gathered.cursor is not None,
            pass_number=piece.pass_number,
            pass_size=piece.pass_size,
            # The last of a pass whose size is known is whichever comes last: its chunks are counted.
            ends_pass=piece.pass_size is None and not goes_on,
            is_unchanged=not goes_on and self._is_unchanged(gathered),
            edges=_edges(assignment.attempt),
        )

    def _is_unchanged(self, gathered: Gathered) -> bool:
        """Whether the same piece brought the very same rows the last time, so that nothing need be added."""
        piece = gathered.assignment.piece
        if piece.kind not in (PieceKind.FULL, PieceKind.TAIL) or not gathered.written:
            return False
        # Superseded chunks are not looked at: what takes the place of one would be compared with one before.
        if piece.pass_size not in (None, 1) or gathered.assignment.attempt.reread is not None:
            return False
        before = self._chunk_before(gathered.assignment)
        if before is None or before.manifest is None:
            return False
        manifest = AttemptManifest.parse(before.manifest)
        return (
            manifest.content_sum == gathered.content_sum
            and manifest.counts.written == gathered.written
            and not gathered.quarantined
            and manifest.schema_fingerprint == self.work_on.fingerprint
            and not self._is_withdrawn(manifest)
        )

    def _is_withdrawn(self, manifest: AttemptManifest) -> bool:
        """Whether the table was restored since to what it was before a chunk landed."""
        current = self.ground.catalog.snapshots.current(manifest.table)
        if current is None:
            return False
        return SnapshotManifest.parse(current.manifest).place_of(manifest.seq) is Place.NOWHERE

    def _chunk_before(self, assignment: Assignment) -> Chunk | None:
        """The last done chunk that read the same bounds of the same stream."""
        bounds = replace(assignment.piece, pass_number=None)
        for chunk in self.ground.catalog.chunks.recent(assignment.attempt.pipeline, limit=_LOOK_BACK):
            if chunk.table == assignment.attempt.table:
                piece = Piece.parse(chunk.predicate)
                if piece.partition == bounds.partition and piece.kind is not PieceKind.SWEEP:
                    return chunk if replace(piece, pass_number=None) == bounds else None
        return None

    def _went_on(
        self,
        finished: Sequence[Finished],
        follow_ups: Sequence[Piece | None],
        seconds: float,
        wait_seconds: float,
    ) -> None:
        """After the commit: everything here can be done again by whoever comes next."""
        for each, piece in zip(finished, follow_ups, strict=True):
            if piece is not None:
                self._plan_follow_up(each.attempt, piece)
        self.publishing.mark([self.work_on.store])
        self.tally.add(finished)
        for each in finished:
            self.ground.listen(self._committed(each, seconds, wait_seconds))

    def _plan_follow_up(self, attempt: ChunkAttempt, piece: Piece) -> None:
        self.ground.catalog.chunks.plan(
            attempt.pipeline,
            f"after-{attempt.chunk}",
            [NewChunk(table=attempt.table, predicate=piece.text(), reread=attempt.reread)],
            self.ground.clock.now(),
        )
        self.ground.reached(Step.FOLLOW_UP_PLANNED)

    def _committed(self, each: Finished, seconds: float, wait_seconds: float) -> ChunkCommitted:
        attempt = each.attempt
        return ChunkCommitted(
            pipeline=attempt.pipeline,
            run=attempt.run,
            chunk=attempt.chunk,
            table=attempt.table,
            rows=0 if each.is_unchanged else each.counts.written,
            bytes=0 if each.is_unchanged else each.bytes,
            attempts=attempt.number,
            started_at=attempt.claimed_at,
            seconds=seconds,
            wait_seconds=wait_seconds,
            predicate=self.describe(attempt),
            eta_seconds=self.tally.eta_seconds(self.ground.catalog.chunks.tally(attempt.pipeline)),
            reason=None if attempt.reread is None else attempt.reread.reason,
        )


def _is_broken_off(gathered: Gathered) -> bool:
    """Whether the read came to its limit, so that there may be more behind its cursor."""
    limit = gathered.assignment.read.limit
    return limit is not None and gathered.read >= limit


def _edges(attempt: ChunkAttempt) -> tuple[Edge, ...]:
    """From the runs that read before what is read again, with the reason.

    The record is the moment at which it was asked for: a run may do what was asked for at several times, each
    with a reason of its own.
    """
    if attempt.reread is None:
        return ()
    asked_at = attempt.reread.asked_at.isoformat()
    return tuple(
        Edge(
            child=attempt.run,
            parent=run,
            kind=EdgeKind.REWIND,
            at=attempt.claimed_at,
            record=asked_at,
            reason=attempt.reread.reason,
        )
        for run in attempt.reread.runs
    )
