"""The suite is able to fail: every test of it catches a connector that is broken in just that way."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from tests.support.shelf import PAGE, TABLES, TOKEN, ShelfConnector, ShelfServer, shelf_subject

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.sources.config import SecretTemplate, SourceConfig
from hakiri.sources.contract import Batch, Extent, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.testing import ConnectorContract, Subject, conduct

SUITE = {
    name: test
    for name, test in inspect.getmembers(ConnectorContract, inspect.isfunction)
    if name.startswith("test_")
}


def every_batch(change: Callable[[Batch], Batch]) -> type[ShelfConnector]:
    """A connector that does something wrong to each batch."""

    class Changed(ShelfConnector):
        def open(self, read: Read) -> Iterator[Batch]:
            return (change(batch) for batch in super().open(read))

    return Changed


def every_table(**changes: Any) -> type[ShelfConnector]:
    """A connector that says something wrong of `loans`."""

    class Changed(ShelfConnector):
        def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
            found = super().discover(only)
            return [replace(table, **changes) if table.name == "loans" else table for table in found]

    return Changed


def every_hint(**hint: Any) -> type[ShelfConnector]:
    class Changed(ShelfConnector):
        def backfill_hint(self, table: str) -> Hint:
            return Hint(**hint)

    return Changed


class OtherOrder(ShelfConnector):
    looks: ClassVar[list[int]] = []

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        self.looks.append(1)
        found = list(super().discover(only))
        return found[::-1] if len(self.looks) % 2 else found


class LooksAtAll(ShelfConnector):
    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        super().discover(only)
        return list(TABLES.values())


class UnknownIsEmpty(ShelfConnector):
    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        return super().discover([name for name in only if name in TABLES] if only is not None else None)


class UnknownIsTransient(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        if read.table not in TABLES:
            raise TransientFailure("try it again")
        yield from super().open(read)


class NotSaidToBeOpen(ShelfConnector):
    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        return [replace(table, is_open=False) for table in super().discover(only)]


class Chatty(ShelfConnector):
    def check(self) -> str:
        return "reached\nit answered"


class BareConfig(SourceConfig):
    port: int
    token: SecretTemplate


class Undescribed(ShelfConnector):
    Config = BareConfig  # type: ignore[assignment]


class NeedsDiscover(ShelfConnector):
    has_looked = False

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        self.has_looked = True
        return super().discover(only)

    def open(self, read: Read) -> Iterator[Batch]:
        return super().open(read) if self.has_looked else iter(())


class OwnForm(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        return super().open(replace(read, schema=None))


class LosesTheRest(ShelfConnector):
    def settled(self, each: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
        return super().settled({name: each[name] for name in each if name in schema.names}, schema)


class Twice(ShelfConnector):
    def batch(self, read: Read, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        return super().batch(read, [*rows[:-1], rows[0]] if rows else rows)


class NullKey(ShelfConnector):
    def batch(self, read: Read, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        return super().batch(read, [dict(each, id=None) for each in rows])


class Endless(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        yield from super().open(read)
        while True:
            yield Batch(rows=self.batch(replace(read, schema=None), []))


class Forgetful(ShelfConnector):
    """Goes on where its own last read was, whoever asks."""

    def __init__(self, config: Any, context: Any) -> None:
        super().__init__(config, context)
        self.last: dict[str, Any] = {}

    def open(self, read: Read) -> Iterator[Batch]:
        for batch in super().open(replace(read, cursor=read.cursor or self.last.get(read.table))):
            self.last[read.table] = batch.cursor
            yield batch


class Shared(Forgetful):
    """The same mistake over all connectors of the process."""

    places: ClassVar[dict[str, Any]] = {}

    def open(self, read: Read) -> Iterator[Batch]:
        self.places[read.table] = read.cursor
        while batch := next(super().open(replace(read, cursor=self.places[read.table])), None):
            self.places[read.table] = self.last[read.table] = batch.cursor
            yield batch


class Crowded(ShelfConnector):
    """Loses rows as soon as two are read at once."""

    under_way = 0
    lock = threading.Lock()

    def open(self, read: Read) -> Iterator[Batch]:
        with self.lock:
            Crowded.under_way += 1
        try:
            for batch in super().open(read):
                yield batch if Crowded.under_way == 1 else replace(batch, rows=batch.rows[:0])
        finally:
            with self.lock:
                Crowded.under_way -= 1


class HugePages(ShelfConnector):
    def asked(self, read: Read, place: int) -> dict[str, Any]:
        return super().asked(read, place) | {"size": 100 * PAGE}


class NoLimit(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        return super().open(replace(read, limit=None))


class CursorOfTime(ShelfConnector):
    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().cursor(page) | {"at": datetime(2026, 5, 11, tzinfo=UTC)}


class CursorAhead(ShelfConnector):
    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"after": page["rows"][-1][0] + 1}


class CursorBehind(ShelfConnector):
    """Right for tables with a key, where the newest row wins; wrong for those without."""

    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"after": page["rows"][-1][0] - 1}


class CursorOfTheStart(ShelfConnector):
    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"after": 0}


class CursorAtTheEnd(ShelfConnector):
    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().cursor(page) if page["has_more"] else {"after": 10**6}


class CursorOnceOnly(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        for number, batch in enumerate(super().open(read)):
            yield batch if number == 0 else replace(batch, cursor=None)


class SwallowsFailures(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        try:
            yield from super().open(read)
        except ReadFailed:
            yield Batch(rows=self.batch(read, []), cursor={"after": 10**6})


class HintsAnew(ShelfConnector):
    asked_for: ClassVar[list[str]] = []

    def backfill_hint(self, table: str) -> Hint:
        self.asked_for.append(table)
        return Hint(cursor_kind=list(CursorKind)[2 + len(self.asked_for) % 2])


class OtherKeys(ShelfConnector):
    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        return [{"country": "fi"}]


class PartitionsOverlap(ShelfConnector):
    def asked(self, read: Read, place: int) -> dict[str, Any]:
        return super().asked(replace(read, partition={}), place)


class PartitionForgotten(ShelfConnector):
    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        return super().partitions(table)[:1]


class EndBelongsToBoth(ShelfConnector):
    def is_inside(self, read: Read, each: Mapping[str, Any]) -> bool:
        ends = read.window and each[read.window.field] == read.window.until and read.window.until is not None
        return bool(ends) or super().is_inside(read, each)


class NullsGetLost(ShelfConnector):
    def is_inside(self, read: Read, each: Mapping[str, Any]) -> bool:
        lost = read.window is not None and each[read.window.field] is None
        return not lost and super().is_inside(read, each)


class NullsEverywhere(ShelfConnector):
    def is_inside(self, read: Read, each: Mapping[str, Any]) -> bool:
        null = read.window is not None and each[read.window.field] is None
        return null or super().is_inside(read, each)


class NoNulls(ShelfConnector):
    def extent(self, table: str, column: str) -> Extent:
        return Extent(has_nulls=False)


class ExtentInSeconds(ShelfConnector):
    def extent(self, table: str, column: str) -> Extent:
        return Extent(lowest=1_778_486_400 if column == "at" else "0")


class NeverStill(ShelfConnector):
    def asked(self, read: Read, place: int) -> dict[str, Any]:
        return super().asked(replace(read, snapshot=None), place)


class OutOfTurn(ShelfConnector):
    def check(self) -> str:
        return f"{self.call('/')[0]}"


class TurnInTurn(ShelfConnector):
    def get(self, path: str) -> Any:
        with self.context.budget.turn():
            return super().get(path)


class HoldsItsTurn(ShelfConnector):
    def open(self, read: Read) -> Iterator[Batch]:
        with self.context.budget.turn():
            yield from super().open(read)


class KeepsItsTurn(ShelfConnector):
    def check(self) -> str:
        self.turn = self.context.budget.turn()
        self.turn.__enter__()
        return super().check()


class AllTransient(ShelfConnector):
    def failure(self, status: int, wait: float) -> ReadFailed:
        return TransientFailure(f"{status}")


class Untyped(ShelfConnector):
    def failure(self, status: int, wait: float) -> ReadFailed:
        raise KeyError(status)


class NeverGivesUp(ShelfConnector):
    def get(self, path: str) -> Any:
        while True:
            try:
                return super().get(path)
            except PermanentFailure:
                raise
            except ReadFailed:
                self.context.wait(1)


class Unsendable(ShelfConnector):
    def failure(self, status: int, wait: float) -> ReadFailed:
        failure = super().failure(status, wait)
        failure.again = lambda: self.get("/")  # type: ignore[attr-defined]
        return failure


class DeadForEver(ShelfConnector):
    is_dead = False

    def get(self, path: str) -> Any:
        if DeadForEver.is_dead:
            raise TransientFailure("still dead")
        return super().get(path)

    def failure(self, status: int, wait: float) -> ReadFailed:
        DeadForEver.is_dead = True
        return super().failure(status, wait)


class ShowsItsToken(ShelfConnector):
    def __repr__(self) -> str:
        return f"ShelfConnector({self.config.token.fill(self.context.secrets)})"


class TokenInCursor(ShelfConnector):
    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().cursor(page) | {"token": TOKEN}


class TellsItsToken(ShelfConnector):
    def failure(self, status: int, wait: float) -> ReadFailed:
        failure = super().failure(status, wait)
        failure.hint = f"check {self.config.token.fill_url(self.context.secrets)}"
        return failure


class TokenInTheCause(ShelfConnector):
    def get(self, path: str) -> Any:
        try:
            return super().get(path)
        except ReadFailed as failure:
            raise failure from ValueError(f"Bearer {TOKEN}")


class LeavesThreads(ShelfConnector):
    done = threading.Event()

    def open(self, read: Read) -> Iterator[Batch]:
        threading.Thread(target=self.done.wait, daemon=True).start()
        return super().open(read)


class LeavesConnections(ShelfConnector):
    left: ClassVar[list[HTTPConnection]] = []

    def close(self) -> None:
        self.left += [self.connection] if self.connection is not None else []
        self.connection = None


class ClosedOnce(ShelfConnector):
    def close(self) -> None:
        if vars(self).setdefault("is_closed", False):
            raise RuntimeError("closed already")
        self.is_closed = True
        super().close()


def with_other_form(batch: Batch) -> Batch:
    fields = [
        field.with_type(pa.int32()) if field.type == pa.int64() else field for field in batch.rows.schema
    ]
    return replace(batch, rows=batch.rows.cast(pa.schema(fields)))


BROKEN: list[tuple[str, type[ShelfConnector]]] = [
    ("tables_are_known_with_their_columns_before_anything_is_read", every_table(primary_key=("nr",))),
    ("tables_are_known_with_their_columns_before_anything_is_read", every_table(cursor_fields=("when",))),
    ("tables_are_known_with_their_columns_before_anything_is_read", every_table(name="visits")),
    ("tables_are_known_with_their_columns_before_anything_is_read", every_table(estimated_rows=-1)),
    ("tables_that_are_looked_at_twice_are_the_same", OtherOrder),
    ("only_the_tables_that_are_asked_for_are_looked_at", LooksAtAll),
    ("a_table_that_is_not_there_is_refused_for_good", UnknownIsEmpty),
    ("a_table_that_is_not_there_is_refused_for_good", UnknownIsTransient),
    ("an_open_table_ends_with_a_column_for_the_rest", NotSaidToBeOpen),
    ("an_open_table_ends_with_a_column_for_the_rest", every_table(is_open=True)),
    ("a_check_says_in_one_line_what_was_reached", Chatty),
    ("the_connector_says_what_it_is_and_what_it_takes", Undescribed),
    ("the_source_is_large_enough_to_show_something", HugePages),
    ("a_read_from_the_start_gives_all_rows", every_batch(lambda batch: replace(batch, rows=batch.rows[1:]))),
    ("a_connector_reads_without_being_asked_for_its_tables_before", NeedsDiscover),
    ("every_batch_has_the_schema_that_was_discovered", every_batch(with_other_form)),
    ("an_open_table_comes_in_the_form_that_is_asked_for", OwnForm),
    ("an_open_table_comes_in_the_form_that_is_asked_for", LosesTheRest),
    ("keys_are_there_and_each_stands_for_one_row", Twice),
    ("keys_are_there_and_each_stands_for_one_row", NullKey),
    ("an_empty_table_ends_at_once", Endless),
    ("reading_twice_gives_the_same", Forgetful),
    ("no_batch_is_larger_than_was_said", HugePages),
    ("a_limit_ends_the_read_early", NoLimit),
    ("cursors_are_plain_json", CursorOfTime),
    ("a_read_goes_on_after_every_batch", CursorAhead),
    ("a_read_goes_on_after_every_batch", CursorBehind),
    ("the_last_cursor_is_not_the_start", CursorOfTheStart),
    ("what_is_new_is_read_from_the_last_cursor", CursorAtTheEnd),
    ("a_read_that_fails_in_the_middle_goes_on_after_its_cursor", SwallowsFailures),
    ("rows_without_a_key_never_come_after_the_last_cursor", CursorOnceOnly),
    ("hints_can_be_followed", HintsAnew),
    ("hints_can_be_followed", every_hint(cursor_kind=CursorKind.MONOTONIC)),
    ("hints_can_be_followed", every_hint(cursor_field="when")),
    ("hints_can_be_followed", every_hint(natural_window=Duration.parse("30d"))),
    ("partitions_have_the_keys_of_the_hint", OtherKeys),
    ("every_row_lies_in_exactly_one_partition", PartitionsOverlap),
    ("every_row_lies_in_exactly_one_partition", PartitionForgotten),
    ("every_row_lies_in_exactly_one_window", EndBelongsToBoth),
    ("every_row_lies_in_exactly_one_window", NullsGetLost),
    ("every_row_lies_in_exactly_one_window", NullsEverywhere),
    ("windows_may_be_read_at_once", Crowded),
    ("an_extent_is_of_the_kind_that_windows_take", NoNulls),
    ("an_extent_is_of_the_kind_that_windows_take", ExtentInSeconds),
    ("a_source_that_is_held_still_does_not_change_for_its_readers", NeverStill),
    ("every_call_to_the_source_takes_a_turn", OutOfTurn),
    ("no_turn_is_taken_inside_another", TurnInTurn),
    ("no_turn_is_held_while_the_reader_has_the_rows", HoldsItsTurn),
    ("every_turn_is_given_back", KeepsItsTurn),
    ("failures_are_of_the_kind_that_they_are", AllTransient),
    ("failures_are_of_the_kind_that_they_are", Untyped),
    ("failures_are_of_the_kind_that_they_are", NeverGivesUp),
    ("a_failure_can_be_sent_to_another_process", Unsendable),
    ("a_source_that_has_recovered_is_read_again", DeadForEver),
    ("no_secret_is_seen_in_what_a_connector_says", ShowsItsToken),
    ("no_secret_is_seen_in_what_a_connector_says", TokenInCursor),
    ("no_secret_is_seen_in_a_failure", TellsItsToken),
    ("no_secret_is_seen_in_a_failure", TokenInTheCause),
    ("a_read_that_is_given_up_leaves_nothing_behind", LeavesThreads),
    ("a_read_that_is_given_up_leaves_nothing_behind", LeavesConnections),
    ("after_a_read_that_was_given_up_the_next_is_whole", Forgetful),
    ("two_connectors_in_step_do_not_disturb_each_other", Shared),
    ("connectors_in_threads_do_not_disturb_each_other", Crowded),
    ("a_connector_is_closed_as_often_as_one_likes", ClosedOnce),
]


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Threads and connections that a broken connector leaves on purpose are gone after its test."""
    LeavesThreads.done.clear()
    try:
        yield
    finally:
        LeavesThreads.done.set()
        while LeavesConnections.left:
            LeavesConnections.left.pop().close()


def outcome_of(test: str, source: Subject) -> BaseException | None:
    """What a test of the suite ends with; also what pytest itself raises, as to leave it out."""
    try:
        SUITE[f"test_{test}"](ConnectorContract(), source)
    except BaseException as outcome:
        return outcome
    return None


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left behind here stays there, however long one waits."""
    monkeypatch.setattr(conduct, "PATIENCE_SECONDS", 0.3)


@pytest.mark.parametrize(
    ("test", "connector"), BROKEN, ids=[f"{kind.__name__}-{name}" for name, kind in BROKEN]
)
def test_a_broken_connector_is_caught(test: str, connector: type[ShelfConnector]) -> None:
    with leaving_nothing(), ShelfServer.start() as server:
        failure = outcome_of(test, shelf_subject(server, connector))

    assert failure is not None
    assert type(failure).__name__ != "Skipped"


def test_every_test_of_the_suite_catches_something() -> None:
    assert {f"test_{name}" for name, _ in BROKEN} == SUITE.keys()
