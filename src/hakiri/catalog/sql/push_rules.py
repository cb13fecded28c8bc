"""What becomes of the changes in the push queue: decisions only, nothing is read or written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hakiri.catalog.contract.push import Answer, Change, ChangeKey, PushState, Verdict
from hakiri.core.ids import SnapshotId

PREIMAGE, POSTIMAGE = "update_preimage", "update_postimage"
_OTHER_IMAGE = {PREIMAGE: POSTIMAGE, POSTIMAGE: PREIMAGE}
_DELIVERED = (Verdict.OK, Verdict.WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A change in the queue without its payload. Positions say who came first; no two are equal."""

    key: ChangeKey
    snapshot: SnapshotId
    state: PushState
    position: int
    attempts: int = 0
    message: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it is there for a newer one to replace."""
        return self.state is not PushState.IN_FLIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A change that is to wait, and what it replaces."""

    change: Change
    entry: Entry
    replaces: Entry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What becomes of a batch: what stays in the queue, and where changes behind it move."""

    delivered: tuple[Entry, ...]
    staying: tuple[Entry, ...]
    moved: tuple[tuple[Entry, int], ...]
    last_position: int

    def count_staying(self, state: PushState) -> int:
        return sum(entry.state is state for entry in self.staying)


def admit(
    changes: Mapping[ChangeKey, Change], queued: Iterable[Entry], last_position: int
) -> list[Admission]:
    """The changes that are to wait now, given everything that is queued of their rows.

    A newer change takes the place of a pending one; it does not take that of a rejected one, which was not
    waiting. The very change that is on its way or was rejected is left alone.
    """
    beside: dict[ChangeKey, list[Entry]] = {}
    for entry in queued:
        beside.setdefault(entry.key, []).append(entry)
    admissions = []
    for key, change in changes.items():
        known = beside.get(key, [])
        same = next((entry for entry in known if entry.snapshot == change.snapshot), None)
        if same is not None and same.state is not PushState.PENDING:
            continue
        replaced = next((entry for entry in known if entry.is_waiting), None)
        if replaced is not None and replaced.state is PushState.PENDING:
            position = replaced.position
        else:
            position = last_position = last_position + 1
        entry = same or Entry(key=key, snapshot=change.snapshot, state=PushState.PENDING, position=position)
        admissions.append(Admission(change=change, entry=entry, replaces=replaced))
    return admissions


def without_rows_in_flight(waiting: Iterable[Entry], queued: Iterable[Entry]) -> list[Entry]:
    """The changes that may go: nothing of a row overtakes what is on its way of the same row."""
    flying = {entry.key.row for entry in queued if entry.state is PushState.IN_FLIGHT}
    return [entry for entry in waiting if entry.key.row not in flying]


def choose(waiting: Sequence[Entry], queued: Iterable[Entry], limit: int) -> list[Entry]:
    """The next batch: those who wait longest, and both images of an update or none, if two fit at all.

    `waiting` is in the order of positions, `queued` is everything that is queued of the same rows.
    """
    pending = {(entry.key, entry.snapshot): entry for entry in queued if entry.state is PushState.PENDING}
    chosen: dict[ChangeKey, Entry] = {}
    for entry in waiting:
        if entry.key in chosen:
            continue
        other = pending.get((_other_image(entry.key), entry.snapshot))
        together = [entry] if other is None or limit == 1 else [entry, other]
        if len(chosen) + len(together) > limit:
            break
        chosen |= {entry.key: entry for entry in together}
    return list(chosen.values())


def in_order(batch: Iterable[Entry]) -> list[Entry]:
    """A batch in the order in which its changes came, the images of an update side by side, first to last."""
    entries = list(batch)
    positions = {(entry.key, entry.snapshot): entry.position for entry in entries}

    def place(entry: Entry) -> tuple[int, bool]:
        other = positions.get((_other_image(entry.key), entry.snapshot), entry.position)
        return min(entry.position, other), entry.key.change_type == POSTIMAGE

    return sorted(entries, key=place)


def settle(
    batch: Iterable[Entry],
    waiting: Iterable[Entry],
    answers: Mapping[ChangeKey, Answer],
    last_position: int,
) -> Settlement:
    """What becomes of a batch, given the pending changes of its rows and an answer to each of its changes.

    What was not delivered is dropped if a newer change waits. What failed waits behind all others, so that it
    does not hold them up, and the changes that wait of the same row go behind it, so that none overtakes it.
    """
    newer = sorted(waiting, key=lambda entry: entry.position)
    superseded = {entry.key for entry in newer}
    delivered, staying = [], []
    for entry in in_order(batch):
        answer = answers[entry.key]
        if answer.verdict in _DELIVERED:
            delivered.append(replace(entry, message=answer.message))
        elif entry.key in superseded:
            continue
        elif answer.verdict is Verdict.ERROR:
            last_position += 1
            staying.append(
                replace(entry, state=PushState.PENDING, position=last_position, message=answer.message)
            )
        else:
            staying.append(replace(entry, state=PushState.REJECTED, message=answer.message))
    failed_rows = {entry.key.row for entry in staying if entry.state is PushState.PENDING}
    behind = [entry for entry in newer if entry.key.row in failed_rows]
    return Settlement(
        delivered=tuple(delivered),
        staying=tuple(staying),
        moved=tuple((entry, last_position + number) for number, entry in enumerate(behind, 1)),
        last_position=last_position + len(behind),
    )


def _other_image(key: ChangeKey) -> ChangeKey:
    """The other image of an update; for other changes one that does not exist."""
    return ChangeKey(key.row, _OTHER_IMAGE.get(key.change_type, ""))
