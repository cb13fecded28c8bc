"""What several pipelines say about one table of the store must go together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.manifest.definition import Definition
from hakiri.manifest.layout import dotted
from hakiri.manifest.problems import Code, Problem
from hakiri.manifest.tables import TableSpec, columns_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fed:
    """One table of one pipeline, on its way into the store."""

    definition: Definition
    number: int
    table: TableSpec

    @property
    def store_name(self) -> str:
        return self.definition.valid_spec.store_name(self.table)

    def problem(self, code: Code, message: str, hint: str) -> Problem:
        path = ("tables", self.number)
        return Problem(
            code=code,
            place=self.definition.place(path),
            path=dotted((*self.definition.path, *path)),
            message=message,
            hint=hint,
        )


def disagreements(definitions: Iterable[Definition]) -> list[Problem]:
    """Where pipelines that feed one table contradict each other. All definitions must be valid."""
    by_store_name: dict[str, list[_Fed]] = {}
    for definition in definitions:
        for number, table in enumerate(definition.valid_spec.tables):
            fed = _Fed(definition=definition, number=number, table=table)
            by_store_name.setdefault(fed.store_name.casefold(), []).append(fed)
    shared = {name: feeding for name, feeding in by_store_name.items() if len(feeding) > 1}
    return [
        problem
        for name, feeding in sorted(shared.items())
        for problem in (
            *_other_spellings(feeding),
            *_other_keys(name, feeding),
            *_other_contracts(name, feeding),
            *_other_former_names(name, feeding),
            *_indexes_over_redacted(name, feeding),
        )
    ]


def _other_spellings(feeding: list[_Fed]) -> Iterable[Problem]:
    """To the store these are two tables, and to SQL one: each would be shown under the name of the other."""
    first = feeding[0]
    for fed in feeding[1:]:
        if fed.store_name != first.store_name:
            yield fed.problem(
                Code.TABLE_DISAGREES,
                f"pipelines `{first.definition.id}` and `{fed.definition.id}` feed tables "
                f"`{first.store_name}` and `{fed.store_name}`, which differ in case alone: SQL knows no case",
                "write both alike if they are one table, or rename one with `as`",
            )


def _other_keys(name: str, feeding: list[_Fed]) -> Iterable[Problem]:
    declared = [fed for fed in feeding if fed.table.primary_key is not None]
    for fed in declared[1:]:
        first = declared[0]
        if fed.table.primary_key != first.table.primary_key:
            yield fed.problem(
                Code.TABLE_DISAGREES,
                f"pipelines `{first.definition.id}` and `{fed.definition.id}` both feed table `{name}`, "
                "with different primary keys",
                "give both the same `primary_key`, or rename one table with `as`",
            )


def _other_contracts(name: str, feeding: list[_Fed]) -> Iterable[Problem]:
    first = feeding[0]
    for fed in feeding[1:]:
        if fed.table.contract != first.table.contract:
            yield fed.problem(
                Code.TABLE_DISAGREES,
                f"pipelines `{first.definition.id}` and `{fed.definition.id}` both feed table `{name}`, "
                f"with the contracts `{first.table.contract}` and `{fed.table.contract}`",
                "give both the same `contract`, or rename one table with `as`",
            )


def _other_former_names(name: str, feeding: list[_Fed]) -> Iterable[Problem]:
    declared: dict[str, tuple[_Fed, str]] = {}
    for fed in feeding:
        for column, about in fed.table.columns.items():
            if about.renamed_from is None:
                continue
            first, old = declared.setdefault(column, (fed, about.renamed_from))
            if old != about.renamed_from:
                yield fed.problem(
                    Code.TABLE_DISAGREES,
                    f"pipelines `{first.definition.id}` and `{fed.definition.id}` both feed table `{name}`, "
                    f"and say that `{column}` was called `{old}` and `{about.renamed_from}`",
                    "give both the same `renamed_from`",
                )


def _indexes_over_redacted(name: str, feeding: list[_Fed]) -> Iterable[Problem]:
    for redacting in feeding:
        redacted = {column for column, about in redacting.table.columns.items() if about.redact}
        for fed in feeding:
            indexed = {column for index in fed.table.indexes for column in columns_of(index)}
            for column in sorted(redacted & indexed) if fed is not redacting else ():
                yield fed.problem(
                    Code.REDACTED_INDEX,
                    f"an index over `{column}` of table `{name}` would keep the content that pipeline "
                    f"`{redacting.definition.id}` keeps out with `redact = true`",
                    f"take `{column}` out of the index, or take `redact` away",
                )
