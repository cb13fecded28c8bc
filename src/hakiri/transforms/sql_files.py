"""An SQL file as a step: `-- @pipeline: orders` at its head, and a query over `input`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.transforms.errors import BrokenTransform
from hakiri.transforms.scanning import DIRECTIVES, sql_directives, sql_target
from hakiri.transforms.steps import LoadedTransform

if TYPE_CHECKING:
    from pyspark.sql.connect.dataframe import DataFrame


@dataclass(frozen=True, slots=True)
class SqlStep:
    """A query that can be called like an author's function."""

    text: str
    place: Place

    def __call__(self, rows: DataFrame, /, **references: DataFrame) -> Any:
        from hakiri.transforms.offline import INPUT, grafted
        from hakiri.transforms.sql import query_plan

        tables = {INPUT: rows, **references}
        return grafted(query_plan(self.text, tables=tables.keys()), tables)


def sql_steps(path: Path, root: Path) -> Iterator[LoadedTransform]:
    """The one step in an SQL file; raises BrokenTransform with the line of what is wrong at its head."""
    text = path.read_text("utf-8")
    file = path.relative_to(root).as_posix()
    lines = {}
    for line, name, value in sql_directives(text):
        if name not in DIRECTIVES:
            meant = nearest(name, DIRECTIVES)
            known = (
                f"did you mean `@{meant}`" if meant else f"known are {', '.join(f'@{d}' for d in DIRECTIVES)}"
            )
            raise BrokenTransform(Place(file, line), f"unknown directive `@{name}`; {known}")
        if not value:
            raise BrokenTransform(Place(file, line), f"`@{name}` has no value")
        lines[name] = line
    target = sql_target(text)
    if target is None:
        raise BrokenTransform(
            Place(file, 1), "its head does not say whom it serves, as in `-- @pipeline: orders`"
        )
    step = SqlStep(text, Place(file))
    yield LoadedTransform(
        target=target, function=step, references=None, language="sql", place=Place(file, lines["pipeline"])
    )
