"""The answer of a statement in each of the forms that a person or a program may want."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hakiri.cli.console import Console
    from hakiri.cli.query.waiting import Watch
    from hakiri.store.query.session import Answer, Session, Statement
    from hakiri.store.query.values import Column

SHOWN_ROWS = 40
ROWS_AT_ONCE = 1000
SPOOL_BYTES = 8 << 20
# Counting on to tell how many rows are not shown takes time that nobody has asked for.
MOST_VALUES_COUNTED = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Where answers are shown. `all_hint` says how to see the rows that are left out."""

    console: Console
    session: Session
    watch: Watch
    all_hint: str

    def show_table(self, statement: Statement, *, most: int | None) -> int | None:
        """Print the rows, at most so many; how many there are, None if nobody counted all."""
        from hakiri.cli.query.table import Table, screen_width
        from hakiri.store.query.values import Form

        answer = self.watch.wait_for(lambda: self.session.ask(statement, Form.EYES))
        is_wide = can_show_signs(self.console)
        table = Table(
            columns=answer.columns,
            width=screen_width(self.console),
            has_colors=self.console.out_has_colors,
            dots="…" if is_wide else "...",
            null="∅" if is_wide else "NULL",
        )
        shown = 0
        for rows in self._blocks(answer, most):
            if not shown:
                self._print(table.begin(rows))
            self._print(table.lines(rows))
            shown += len(rows)
        if not shown and answer.columns:
            self._print(table.begin([]))
        total = self._tell_rest(answer, shown) if shown == most else shown
        if table.hidden and shown:
            self._tell_hidden(table.hidden, len(answer.columns))
        return total

    def show_json(self, statement: Statement) -> int:
        """Print one JSON object with all rows; nothing if they cannot all be made."""
        import shutil
        from tempfile import SpooledTemporaryFile

        from hakiri.store.query.values import Form

        answer = self.watch.wait_for(lambda: self.session.ask(statement, Form.JSON))
        names = distinct([column.name for column in answer.columns])
        with SpooledTemporaryFile(SPOOL_BYTES, "w+", encoding="ascii") as spool:
            count = 0
            for rows in self._blocks(answer, None):
                for row in rows:
                    spool.write((", " if count else "") + row_json(names, row))
                    count += 1
            spool.seek(0)
            self.console.out.write(report_head(answer.columns))
            shutil.copyfileobj(spool, self.console.out)
            self.console.out.write(report_tail(rows=count, changed=None))
        self.console.out.flush()
        return count

    def show_csv(self, statement: Statement) -> None:
        """Write the rows as CSV while they are made."""
        from hakiri.store.query.exporting import CsvStream

        self.console.out.flush()
        sink = getattr(self.console.out, "buffer", None)
        with CsvStream(self.session, statement) as stream:
            while piece := self.watch.wait_for(stream.read):
                if sink is None:
                    self.console.out.write(piece.decode())
                else:
                    sink.write(piece)
                    sink.flush()

    def write_parquet(self, statement: Statement, target: Path) -> int:
        """Write the rows to a file, which is there as a whole or not at all; how many there are."""
        from hakiri.store.query.exporting import write_parquet

        return self.watch.wait_for(lambda: write_parquet(self.session, statement, target))

    def _blocks(self, answer: Answer, most: int | None) -> Iterator[list[tuple[Any, ...]]]:
        left = most
        while left is None or left > 0:
            at_once = ROWS_AT_ONCE if left is None else min(left, ROWS_AT_ONCE)
            rows = self.watch.wait_for(partial(answer.fetch, at_once)) if answer.columns else []
            if not rows:
                return
            yield rows
            left = None if left is None else left - len(rows)

    def _print(self, lines: Iterator[str]) -> None:
        self.console.out.writelines(f"{line}\n" for line in lines)

    def _tell_rest(self, answer: Answer, shown: int) -> int | None:
        most = max(MOST_VALUES_COUNTED // len(answer.columns), ROWS_AT_ONCE)
        rest, is_all = self.watch.wait_for(lambda: answer.count_rest(most))
        if rest:
            self.console.out.flush()
            number = f"{rest:,}" if is_all else f"more than {rest:,}"
            self.console.note(f"… {number} more; {self.all_hint}")
        return shown + rest if is_all else None

    def _tell_hidden(self, hidden: Sequence[str], of: int) -> None:
        some = ", ".join(hidden[:3]) + (", …" if len(hidden) > 3 else "")  # noqa: PLR2004
        self.console.note(
            f"… {len(hidden)} of {of} columns are not shown ({some}): the screen has no room for them"
        )


def can_show_signs(console: Console) -> bool:
    """Whether stdout can carry signs that are no ASCII; a stream without an encoding holds any text."""
    encoding: str | None = console.out.encoding
    return encoding is None or encoding.lower().startswith("utf")


def report_head(columns: Sequence[Column]) -> str:
    """The report up to its rows, as `docs/schemas/query.json` has it."""
    from hakiri.cli.reports.envelope import SCHEMA_VERSION

    names = distinct([column.name for column in columns])
    listed = [{"name": name, "type": column.type} for name, column in zip(names, columns, strict=True)]
    return f'{{"schema_version": {SCHEMA_VERSION}, "columns": {json.dumps(listed)}, "rows": ['


def report_tail(*, rows: int, changed: int | None) -> str:
    """The report behind its rows."""
    return f'], "row_count": {rows}, "changed": {json.dumps(changed)}}}\n'


def row_json(names: Sequence[str], row: Sequence[Any]) -> str:
    """A row as an object."""
    from hakiri.cli.values import json_value

    return json.dumps(dict(zip(names, map(json_value, row), strict=True)))


def distinct(names: Sequence[str]) -> list[str]:
    """The names with a number behind those that came before, so that an object can have all of them."""
    taken = set(names)
    seen: set[str] = set()
    made = []
    for name in names:
        given, number = name, 1
        while given in seen or (given != name and given in taken):
            given, number = f"{name}_{number}", number + 1
        seen.add(given)
        made.append(given)
    return made


def counted(rows: int) -> str:
    """`1 row`, `1,204 rows`."""
    return f"{rows:,} row{'s' * (rows != 1)}"
