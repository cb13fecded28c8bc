"""A plan for people: one block for each pipeline that something happens to, and the counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hakiri.cli.columns import width_of
from hakiri.cli.console import CYAN, GREEN, RED, YELLOW
from hakiri.cli.operating import wrapped
from hakiri.cli.values import moment_text

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.core.errors import HakiriError
    from hakiri.pipelines.edits import Edit
    from hakiri.pipelines.evolution import Change
    from hakiri.pipelines.plan import Plan, PlannedPipeline, PlannedTable

KNOBS = (
    "window",
    "parallelism",
    "rate_budget",
    "start_from",
    "max_chunks_per_tick",
    "destination_writes_per_sec",
    "max_parallel_chunks",
)
_SIGNS = {
    "create": ("+", GREEN),
    "continue": (">", GREEN),
    "update": ("~", YELLOW),
    "pull": (">", GREEN),
    "wait": ("!", RED),
    "remove": ("-", RED),
}
_COUNTED = {
    "create": "to create",
    "update": "to update",
    "continue": "to continue",
    "pull": "to pull",
    "remove": "to remove",
    "wait": "waiting for a decision",
    "nothing": "up to date",
}
_CHANGE_SIGNS = {"add_column": ("+", GREEN), "drop_column": ("-", YELLOW)}
_LABEL_CELLS = 11
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class _Fact:
    """One line of a block: its label, what it says, and how far it stands to the right.

    Where it does not fit on one line, the others begin `hang` cells behind the first.
    """

    label: str
    text: str
    depth: int = 0
    style: str = ""
    sign: str = ""
    hang: int = 0


def show_plan(console: Console, plan: Plan) -> None:
    """Print the plan, then the way on for a person."""
    shown = [each for each in plan.pipelines if each.is_worth_showing]
    for each in shown:
        _show_pipeline(console, each)
    console.print(closing_line(plan))
    if plan.has_changes:
        console.note("Nothing was changed: `hakiri apply` makes it so, `hakiri preview` shows rows.")
    elif plan.pipelines and not shown:
        console.note("Nothing to do.")


def closing_line(plan: Plan) -> str:
    """How many pipelines are in which state, with what is wrong or odd about those that are shown."""
    counts = plan.counts()
    told = [f"{counts[action]} {words}" for action, words in _COUNTED.items() if counts[action]]
    odd = sum(len(_warnings(each)) for each in plan.pipelines)
    wrong = sum(len(each.problems) for each in plan.pipelines if each.action.value != "wait")
    troubles = [words for words in (_counted(odd, "warning"), _counted(wrong, "problem")) if words]
    line = f"Plan for {plan.project}: {', '.join(told) or 'no pipelines'}"
    return f"{line}; {', '.join(troubles)}." if troubles else f"{line}."


def why(each: PlannedPipeline) -> str:
    """What makes something happen to the pipeline, or nothing, in a few words."""
    if each.action.value == "remove":
        return "it left the manifest; its tables stay"
    if each.action.value == "continue" and each.chunks_left:
        return f"{_counted(each.chunks_left, 'chunk')} left"
    if each.action.value == "update" and not each.edits:
        return "it is back in the manifest"
    if each.action.value == "nothing" and each.problems:
        return "up to date, as far as can be told"
    return each.need.value


def knob_words(value: object) -> str:
    """The value as a manifest would have it."""
    from datetime import datetime

    if isinstance(value, datetime):
        return moment_text(value).removesuffix("T00:00:00Z")
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "text", value))


def _show_pipeline(console: Console, each: PlannedPipeline) -> None:
    sign, style = _SIGNS.get(each.action.value, ("=", ""))
    name = f"{sign} {each.id}"
    place = f"  ({each.place})" if each.place is not None else ""
    console.print(f"{console.highlighted(name, style) if style else name}  {why(each)}{place}")
    width = width_of(console)
    for fact in _facts(each):
        for line in _lines(console, fact, width):
            console.print(line)
    console.print("")


def _lines(console: Console, fact: _Fact, width: int) -> list[str]:
    """The fact on as many lines as it takes, its colour on its label or on its sign."""
    sign = f"{fact.sign} " if fact.sign else ""
    first = f"{_INDENT}{fact.label:<{_LABEL_CELLS}}  {'  ' * fact.depth}{sign}"
    lines = wrapped(fact.text, width, first=first, rest=" " * (len(first) + fact.hang))
    marked = fact.sign or fact.label
    if fact.style and marked:
        at = first.rindex(marked)
        head = f"{first[:at]}{console.highlighted(marked, fact.style)}{first[at + len(marked) :]}"
        lines[0] = head + lines[0].removeprefix(first)
    return lines


def _facts(each: PlannedPipeline) -> Iterator[_Fact]:
    from hakiri.core.grammar import describe

    spec = each.spec
    if spec is not None:
        yield _Fact("source", f"{spec.source.connector} → {each.destination}")
        if spec.schedule is not None:
            words = describe(spec.schedule)
            yield _Fact("schedule", f"{words[:1].lower()}{words[1:]}")
        if spec.incremental is not None:
            yield _Fact("incremental", spec.incremental)
        if spec.secrets:
            yield _Fact("secrets", ", ".join(spec.secrets))
        if each.tables:
            yield from _labelled("tables", _table_facts(each))
        else:
            yield _Fact("tables", ", ".join(table.name for table in spec.tables))
    yield from _labelled("edited", [_edit_fact(edit) for edit in each.edits])
    yield from _labelled("knobs", _knob_facts(each.tables))
    yield from (_Fact("warning", text, style=YELLOW) for text in _warnings(each))
    for problem in each.problems:
        yield from _problem_facts(each, problem)


def _labelled(label: str, facts: Sequence[_Fact] | Iterator[_Fact]) -> Iterator[_Fact]:
    """The facts, the first of them with the label of all."""
    for number, fact in enumerate(facts):
        yield replace(fact, label=label) if number == 0 else fact


def _table_facts(each: PlannedPipeline) -> Iterator[_Fact]:
    names = [
        table.store if table.store == table.name else f"{table.name} → {table.store}" for table in each.tables
    ]
    cells = max(map(len, names))
    for name, table in zip(names, each.tables, strict=True):
        words = table_words(table)
        yield _Fact("", f"{name:<{cells}}  {words}" if words else name, hang=cells + 2)
        for change in table.changes or ():
            if change.kind.value != "create":
                sign, style = _CHANGE_SIGNS.get(change.kind.value, ("~", YELLOW))
                yield _Fact("", _change_words(change), 1, style, sign)
        for change in table.ignored:
            yield _Fact("", f"left out: {_change_words(change)}", 1, YELLOW, "-")
        for change in table.refused:
            yield _Fact("", f"refused: {_change_words(change)}", 1, RED, "!")


def table_words(table: PlannedTable) -> str:
    """What would come to the table: whether it is new, about how many rows, in how many chunks."""
    words = [f"new, {change.after}" for change in table.changes or () if change.kind.value == "create"]
    chunks = _counted(table.chunks or 0, "chunk")
    if table.rows is None:
        rows = f"{chunks}, rows unknown" if chunks else ""
    elif table.is_reread:
        rows = f"all of about {_counted(table.rows, 'row')} again in {chunks}"
    elif table.rows:
        about = f"about {_counted(table.rows, 'row')}"
        rows = f"{about} in {chunks}" if chunks else f"{about} to come"
    else:
        rows = f"no new rows in sight, {chunks}" if chunks else "no new rows"
    return ", ".join([*words, rows]) if rows else ", ".join(words)


def _change_words(change: Change) -> str:
    return f"{change}: {change.rule}" if change.rule else str(change)


def _edit_fact(edit: Edit) -> _Fact:
    if edit.before is None:
        return _Fact("", f"{edit.key} = {_value_words(edit.after)}", 0, GREEN, "+")
    if edit.after is None:
        return _Fact("", f"{edit.key} = {_value_words(edit.before)}", 0, RED, "-")
    words = f"{edit.key}: {_value_words(edit.before)} → {_value_words(edit.after)}"
    return _Fact("", words, 0, YELLOW, "~")


def _value_words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _knob_facts(tables: Sequence[PlannedTable]) -> Iterator[_Fact]:
    """Every knob in force and who decided it; by table where tables differ."""
    rows: list[tuple[str, str, str]] = []
    for name in KNOBS:
        found: dict[tuple[str, str], list[str]] = {}
        for table in tables:
            knob = getattr(table.knobs, name) if table.knobs is not None else None
            if knob is not None and knob.value is not None:
                found.setdefault((knob_words(knob.value), knob.origin.value), []).append(table.name)
        for (value, origin), names in found.items():
            is_of_all = len(names) == len(tables)
            rows.append((name, value, origin if is_of_all else f"{origin}, {', '.join(names)}"))
    name_cells = max((len(name) for name, _, _ in rows), default=0)
    value_cells = max((len(value) for _, value, _ in rows), default=0)
    for name, value, origin in rows:
        yield _Fact("", f"{name:<{name_cells}}  {value:<{value_cells}}  {origin}")


def _warnings(each: PlannedPipeline) -> tuple[str, ...]:
    """What to be warned of; where nothing would be done, only what is wrong all the same."""
    is_idle = each.action.value == "nothing" and not each.problems
    return each.leftovers if is_idle else (*each.warnings, *each.leftovers)


def _problem_facts(each: PlannedPipeline, problem: HakiriError) -> Iterator[_Fact]:
    yield _Fact("problem", str(problem), style=RED)
    yield from (_Fact("", str(place), 0, CYAN, "-->") for place in problem.places if place != each.place)
    if problem.hint:
        yield _Fact("", problem.hint, 0, CYAN, "hint:")


def _counted(number: int, noun: str) -> str:
    """`3 chunks`; nothing for none."""
    if not number:
        return ""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
