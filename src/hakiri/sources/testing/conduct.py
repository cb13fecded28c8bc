"""Tests of how a connector behaves: calls, secrets, failures, and what it leaves behind."""

from __future__ import annotations

import math
import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

from hakiri.core.clock import SystemClock
from hakiri.core.secrets import masker
from hakiri.sources.contract import Connector, Read
from hakiri.sources.errors import RateLimited, ReadFailed
from hakiri.sources.testing.discovering import UNKNOWN
from hakiri.sources.testing.pieces import at_once
from hakiri.sources.testing.reading import (
    Row,
    end_state,
    read_all,
    read_anew,
    refuse_difference,
    rows_of,
    tables_of,
)
from hakiri.sources.testing.subject import Subject, Visit, arrive, needed, visit

ABANDONED_READS = 5
# Servers notice a closed connection some moments later.
PATIENCE_SECONDS = 5.0
LOOK_EVERY_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What this process holds: threads, open files and connections, and processes it has started."""

    threads: frozenset[int | None]
    files: int
    children: frozenset[str]

    @classmethod
    def now(cls) -> Held:
        return cls(
            threads=frozenset(thread.ident for thread in threading.enumerate()),
            files=len(os.listdir("/dev/fd")),
            children=frozenset(_children()),
        )

    def kept_beyond(self, before: Held) -> str:
        """What is held now and was not before, in words; empty if nothing is."""
        kept = {
            "threads": len(self.threads - before.threads),
            "files or connections": max(0, self.files - before.files),
            "processes": len(self.children - before.children),
        }
        return ", ".join(f"{count} {what}" for what, count in kept.items() if count)


class CallContract:
    """Every call to the source takes its turn, and gives it back."""

    def test_every_call_to_the_source_takes_a_turn(self, source: Subject) -> None:
        calls = needed(source.calls, "count of the calls that it sees")
        for words, work in _all_work(source):
            before = calls()
            with visit(source) as here:
                work(here.connector)
                turns = here.budget.turns
            made = calls() - before
            assert made <= turns, f"{words} makes {made} calls in {turns} turns"

    def test_no_turn_is_taken_inside_another(self, source: Subject) -> None:
        for words, work in _all_work(source):
            with visit(source) as here:
                work(here.connector)
                assert here.budget.nested == 0, f"{words} would wait for itself when the budget is one call"

    def test_no_turn_is_held_while_the_reader_has_the_rows(self, source: Subject) -> None:
        with visit(source) as here:
            for name in source.rows:
                for _ in here.connector.open(Read(table=name)):
                    assert here.budget.held_here() == 0, f"`{name}`: others wait while its rows are written"

    def test_every_turn_is_given_back(self, source: Subject) -> None:
        with visit(source) as here:
            for _, work in _all_work(source):
                work(here.connector)
            _abandon(here, source)
            with pytest.raises(ReadFailed):
                here.connector.discover([UNKNOWN])
        assert here.budget.held() == 0


class FailureContract:
    """What goes wrong at the source has a type, and tells no secret."""

    def test_failures_are_of_the_kind_that_they_are(self, source: Subject) -> None:
        for kind, broken in needed(source.breakages, "way to break the source").items():
            with broken():
                for words, failure in _failures(source):
                    assert isinstance(failure, kind), f"{words} raises {failure!r} and not {kind.__name__}"
                    assert str(failure).strip()
                    assert "\n" not in str(failure), f"{words} fails with several lines"
                    if isinstance(failure, RateLimited):
                        assert math.isfinite(failure.seconds)
                        assert failure.seconds >= 0

    def test_a_failure_can_be_sent_to_another_process(self, source: Subject) -> None:
        for broken in needed(source.breakages, "way to break the source").values():
            with broken():
                for words, failure in _failures(source):
                    received = pickle.loads(pickle.dumps(failure))  # noqa: S301 - just made here
                    assert (type(received), str(received)) == (type(failure), str(failure)), words

    def test_a_source_that_has_recovered_is_read_again(self, source: Subject) -> None:
        for broken in needed(source.breakages, "way to break the source").values():
            with broken():
                assert list(_failures(source))
            for name, count in source.rows.items():
                assert (len(rows_of(read_anew(source, Read(table=name)))) > 0) == (count > 0)

    def test_no_secret_is_seen_in_what_a_connector_says(self, source: Subject) -> None:
        needed(source.secrets, "secrets")
        with visit(source) as here:
            connector = here.connector
            said = [repr(connector), str(connector), repr(connector.config), str(connector.config)]
            said += [connector.check(), repr(connector.discover())]
            for name in source.rows:
                said += [repr(connector.backfill_hint(name)), repr(connector.partitions(name))]
                said += [repr(batch.cursor) for batch in read_all(connector, Read(table=name))]
        _refuse_secrets(source, said)

    def test_no_secret_is_seen_in_a_failure(self, source: Subject) -> None:
        needed(source.secrets, "secrets")
        failures = [_failure_of(source, lambda connector: connector.discover([UNKNOWN]))]
        for broken in source.breakages.values():
            with broken():
                failures += [failure for _, failure in _failures(source)]
        for failure in failures:
            # With all that it was caused by: `--verbose` shows it.
            told = "".join(traceback.format_exception(failure))
            _refuse_secrets(source, [told, repr(failure), repr(vars(failure))])


class CompanyContract:
    """Reads that are given up, and connectors beside each other."""

    def test_a_read_that_is_given_up_leaves_nothing_behind(self, source: Subject) -> None:
        for name in source.rows:
            read_anew(source, Read(table=name))  # libraries open things of their own the first time
        before = _settled()
        left: list[Visit] = []
        for _ in range(ABANDONED_READS):
            here = arrive(source)
            _abandon(here, source)
            here.connector.close()
            left.append(here)  # still referred to, so that nothing but the connector itself tidied up

        kept = _wait_until_quiet(before)

        assert not kept, f"after {len(left)} reads that were given up and closed there are left: {kept}"

    def test_after_a_read_that_was_given_up_the_next_is_whole(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                whole = end_state(table, rows_of(read_anew(source, Read(table=table.name))))
                _abandon(here, source)
                again = end_state(table, rows_of(read_all(here.connector, Read(table=table.name))))
                refuse_difference(f"`{table.name}` after a read that was given up", whole, again)

    def test_two_connectors_in_step_do_not_disturb_each_other(self, source: Subject) -> None:
        with visit(source) as here, visit(source) as there:
            for table in tables_of(here.connector, source):
                whole = end_state(table, rows_of(read_anew(source, Read(table=table.name))))
                reads = [each.connector.open(Read(table=table.name)) for each in (here, there)]
                given: tuple[list[Row], list[Row]] = ([], [])
                for batches in zip_longest(*reads):
                    for rows, batch in zip(given, batches, strict=True):
                        rows.extend(rows_of([batch] if batch is not None else []))
                for rows in given:
                    refuse_difference(f"`{table.name}` read in step", whole, end_state(table, rows))

    def test_connectors_in_threads_do_not_disturb_each_other(self, source: Subject) -> None:
        with visit(source) as here:
            tables = tables_of(here.connector, source)
        work = [table for table in tables for _ in range(2)]

        found = at_once(lambda table: rows_of(read_anew(source, Read(table=table.name))), work)

        for table, rows in zip(work, found, strict=True):
            whole = end_state(table, rows_of(read_anew(source, Read(table=table.name))))
            refuse_difference(f"`{table.name}` read by two at once", whole, end_state(table, rows))

    def test_a_connector_is_closed_as_often_as_one_likes(self, source: Subject) -> None:
        unused, used = arrive(source).connector, arrive(source).connector
        used.discover()
        for connector in (used, unused):
            connector.close()
            connector.close()


Work = Callable[[Connector], object]


def _all_work(source: Subject) -> list[tuple[str, Work]]:
    """Everything that a connector may be asked for, each in words."""
    name = next(iter(source.rows))
    work: list[tuple[str, Work]] = [
        ("discovering", lambda connector: connector.discover()),
        ("the check", lambda connector: connector.check()),
        ("the hint", lambda connector: connector.backfill_hint(name)),
        ("asking for partitions", lambda connector: connector.partitions(name)),
    ]
    return [*work, *((f"reading `{table}`", _reader(table)) for table in source.rows)]


def _reader(table: str) -> Work:
    return lambda connector: read_all(connector, Read(table=table))


def _failures(source: Subject) -> Iterator[tuple[str, ReadFailed]]:
    """What a connector raises while the source is broken, when it discovers and when it reads.

    One that knows its tables without asking the source has nothing to raise when it discovers.
    """
    with visit(source) as here:
        try:
            here.connector.discover()
        except ReadFailed as failure:
            yield "discovering", failure
        else:
            assert here.budget.turns == 0, "discovering asks a source that is broken, and does not fail"
    filled = next(name for name, count in source.rows.items() if count)
    yield f"reading `{filled}`", _failure_of(source, _reader(filled))


def _failure_of(source: Subject, work: Work) -> ReadFailed:
    with visit(source) as here, pytest.raises(ReadFailed) as caught:
        work(here.connector)
    return caught.value


def _abandon(here: Visit, source: Subject) -> None:
    """Begin to read every table, and give up after the first batch."""
    for name in source.rows:
        reading = here.connector.open(Read(table=name))
        next(reading, None)
        close = getattr(reading, "close", None)
        if close is not None:
            close()


def _refuse_secrets(source: Subject, texts: list[str]) -> None:
    masked = masker(source.hidden())
    for text in texts:
        assert masked(text) == text, f"a secret is seen, here as ***: {masked(text)}"


def _wait_until_quiet(before: Held) -> str:
    """What is still held after a while that was not before; empty as soon as nothing is."""
    patience = threading.Event()
    until = SystemClock().monotonic() + PATIENCE_SECONDS
    while (kept := Held.now().kept_beyond(before)) and SystemClock().monotonic() < until:
        patience.wait(LOOK_EVERY_SECONDS)
    return kept


def _children() -> Iterator[str]:
    """The processes that this one has started, where the system tells."""
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            yield from task.read_text().split()
        except OSError:
            continue  # the thread has ended meanwhile, and its children are another one's


def _settled() -> Held:
    """What is held once nothing of what was done before is still on its way out."""
    patience = threading.Event()
    until = SystemClock().monotonic() + PATIENCE_SECONDS
    last = Held.now()
    while not patience.wait(LOOK_EVERY_SECONDS * 3) and (now := Held.now()) != last:
        last = now
        if SystemClock().monotonic() > until:
            break
    return last
