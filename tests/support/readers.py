"""A process that reads a table through `duck.db` all the while, and remembers all that is not right."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.crashes import UNHARMED, ended, forked


class ReadingProcess:
    """Asks stock DuckDB for the rows of `orders` again and again, each time through the views of the moment.

    A process of its own: those that are killed meanwhile are forked off one that has no threads.
    """

    def __init__(self, duck_db: Path, expected: list[tuple[Any, ...]], aside: Path) -> None:
        self._duck_db, self._expected, self._aside = duck_db, expected, aside
        self.answers = 0
        self.wrong: list[str] = []

    def __enter__(self) -> ReadingProcess:
        self._heard, self._told = os.pipe()
        self._child = forked(self._read, self._aside / "trouble")
        os.close(self._heard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._told)
        ended(self._child, UNHARMED)
        self.answers, self.wrong = json.loads((self._aside / "answers.json").read_text())

    def _read(self) -> None:
        import duckdb

        os.close(self._told)
        os.set_blocking(self._heard, False)
        answers, wrong = 0, []
        with duckdb.connect(config={"threads": 1}) as reader:
            while not (answers and self._is_over()):
                try:
                    seen = _rows(reader.execute, self._duck_db)
                except duckdb.Error as error:
                    seen = str(error)
                answers += 1
                if seen != self._expected:
                    wrong.append(str(seen))
        (self._aside / "answers.json").write_text(json.dumps([answers, wrong]))

    def _is_over(self) -> bool:
        try:
            return os.read(self._heard, 1) == b""
        except BlockingIOError:
            return False


def _rows(execute: Callable[[str], Any], duck_db: Path) -> list[tuple[Any, ...]] | str:
    execute(f"ATTACH '{duck_db}' AS store (READ_ONLY)")
    try:
        rows: list[tuple[Any, ...]] = execute("FROM store.orders ORDER BY ALL").fetchall()
    finally:
        execute("DETACH store")
    return rows
