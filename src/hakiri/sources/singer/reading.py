"""From the messages of a tap to batches: cut where a STATE says that everything before it is safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from hakiri.core.clock import Clock
from hakiri.sources.contract import Batch, Cursor
from hakiri.sources.errors import PermanentFailure, ReadFailed
from hakiri.sources.json_rows import needs_digits, settle_or_sift
from hakiri.sources.singer.catalog import Stream
from hakiri.sources.singer.failures import failure_of
from hakiri.sources.singer.messages import Other, Record, Schema, State, message_in
from hakiri.sources.singer.process import TapRun

ENOUGH_BYTES = 8 * 2**20
# Of a slow tap what was read is worth keeping earlier.
ENOUGH_SECONDS = 30.0
STATE_KEY = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a run: one stream, in this form, and no more rows than `limit`.

    `others` are the streams that it must not be taken for, and `before` is the cursor of the read. With
    `sets_aside` the rows that do not fit are rejects.
    """

    tap: str
    stream: Stream
    others: Sequence[Stream]
    schema: pa.Schema
    before: Cursor | None
    limit: int | None
    enough_records: int
    sets_aside: bool = False


def batches_of(
    run: TapRun, wanted: Wanted, *, clock: Clock, mask: Callable[[str], str], note: Callable[[str], None]
) -> Iterator[Batch]:
    """The rows of the stream. A failure comes after the batches of what was read before it.

    A batch either ends where the tap has given a STATE, and has it as its cursor, or has none.
    """
    pending = _Pending(wanted, clock)
    try:
        for message in _messages(run, wanted, pending, mask=mask, note=note):
            if isinstance(message, State):
                pending.mark(message.value)
                continue
            if pending.is_enough():
                yield from pending.taken(only_some=True)
            pending.add(message.values)
            if wanted.limit is not None and pending.rows >= wanted.limit:
                break
    except ReadFailed:
        yield from pending.taken()
        raise
    yield from pending.taken()


def state_in(cursor: Cursor | None) -> Any:
    """The state that a cursor holds, to start the tap with; None is from the start."""
    if cursor is None:
        return None
    if STATE_KEY not in cursor:
        raise PermanentFailure(
            f"the cursor has no `{STATE_KEY}`, so it is not of a tap",
            hint="start the pipeline from the beginning, or give it an id of its own",
        )
    return cursor[STATE_KEY]


def _messages(
    run: TapRun,
    wanted: Wanted,
    pending: _Pending,
    *,
    mask: Callable[[str], str],
    note: Callable[[str], None],
) -> Iterator[Record | State]:
    """The rows of the stream and all states, until the tap has ended well."""
    keep_digits = needs_digits(wanted.schema)
    own, strange = {wanted.stream.id}, Counter[str]()
    has_schema = False
    for number, line in enumerate(run.lines(), start=1):
        if not line.strip():
            continue
        try:
            message = message_in(line, number, mask, keep_digits=keep_digits)
        except PermanentFailure:
            if run.has_all and (code := run.code()):
                # Cut off in the middle of a line: how it ended says more.
                raise failure_of(wanted.tap, code, run.log, has_given=pending.has_given) from None
            raise
        match message:
            case Record(stream=name):
                if name in own or wanted.stream.is_meant_by(name, wanted.others):
                    own.add(name)
                    pending.line_bytes += len(line)
                    yield message
                else:
                    strange[name] += 1
            case State():
                yield message
            case Schema(stream=name):
                has_schema = has_schema or wanted.stream.is_meant_by(name, wanted.others)
            case Other(kind=kind):
                note(_about(kind))
    code = run.code()
    if code:
        raise failure_of(wanted.tap, code, run.log, has_given=pending.has_given)
    if not has_schema and not pending.rows:
        _refuse_nothing(wanted, strange)


def _refuse_nothing(wanted: Wanted, strange: Counter[str]) -> None:
    """A tap that does not even tell of a stream must not look like one that has no rows.

    From a state it may well say nothing: there is nothing new.
    """
    if not wanted.stream.is_in_catalog or wanted.before is not None:
        return
    known = {name for other in wanted.others for name in (other.id, other.name)}
    unknown = [f", and gave rows of `{name}`" for name in strange if name not in known]
    instead = unknown[0] if unknown else ""
    raise PermanentFailure(
        f"the tap `{wanted.tap}` was asked for `{wanted.stream.id}` and did not tell of it{instead}",
        hint="write `properties = true` if it is an old tap, which takes its catalog with --properties",
    )


def _about(kind: str) -> str:
    if kind == "ACTIVATE_VERSION":
        return (
            "the tap says with ACTIVATE_VERSION that it has given the whole table; "
            "rows that are gone at the source stay in the store"
        )
    return f"messages of the type {kind} are left out"


class _Pending:
    """What was read and not given yet. The first `marked` rows are covered by the last state."""

    def __init__(self, wanted: Wanted, clock: Clock) -> None:
        self._wanted = wanted
        self._clock = clock
        self._records: list[dict[str, Any]] = []
        self._marked = 0
        self._cursor = self._given = wanted.before
        self._since = clock.monotonic()
        self.line_bytes = 0
        self.rows = 0

    @property
    def has_given(self) -> bool:
        return self.rows > 0

    def is_enough(self) -> bool:
        return bool(self._records) and (
            len(self._records) >= self._wanted.enough_records
            or self.line_bytes >= ENOUGH_BYTES
            or self._clock.monotonic() - self._since >= ENOUGH_SECONDS
        )

    def add(self, record: dict[str, Any]) -> None:
        self._records.append(record)
        self.rows += 1

    def mark(self, state: Any) -> None:
        self._marked = len(self._records)
        self._cursor = {STATE_KEY: _plain(state)}

    def taken(self, *, only_some: bool = False) -> Iterator[Batch]:
        """Batches of the rows: those that the last state covers with it as the cursor, then the others.

        With `only_some` the others wait for their own state, if there are any before them.
        """
        covered, rest = self._records[: self._marked], self._records[self._marked :]
        keeps_rest = only_some and bool(covered)
        self._records, self._marked = (rest, 0) if keeps_rest else ([], 0)
        self.line_bytes, self._since = 0, self._clock.monotonic()
        if covered or (self._cursor != self._given and not only_some):
            cursor = None if self._cursor == self._given else self._cursor
            self._given = self._cursor
            yield self._batch(covered, cursor)
        if rest and not keeps_rest:
            yield self._batch(rest, None)

    def _batch(self, records: list[dict[str, Any]], cursor: Cursor | None) -> Batch:
        rows, rejects = settle_or_sift(records, self._wanted.schema, sets_aside=self._wanted.sets_aside)
        return Batch(rows=rows, cursor=cursor, rejects=rejects)


def _plain(state: Any) -> Any:
    """The state in plain JSON, which has no largest whole number."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_plain(value) for value in state]
    if isinstance(state, Decimal):
        if state.as_tuple().exponent != 0:
            raise PermanentFailure(f"the state of the tap holds `{state}`, which is no number of a computer")
        return int(state)
    return state
