"""What `compile` reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hakiri.pipelines import ResultSchema
    from hakiri.transforms import CompiledFile


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRow:
    path: str
    sources: tuple[str, ...]
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledColumn:
    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledTable:
    pipeline: str
    table: str
    plan: tuple[str, ...]
    columns_in: tuple[CompiledColumn, ...]
    columns_out: tuple[CompiledColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileReport:
    compiled: tuple[CompiledRow, ...]
    unused: tuple[str, ...]
    tables: tuple[CompiledTable, ...]


def compile_report(
    outcomes: Sequence[CompiledFile], unused: Sequence[str], schemas: Sequence[ResultSchema]
) -> CompileReport:
    return CompileReport(
        compiled=tuple(
            CompiledRow(path=each.path, sources=each.sources, is_changed=each.is_changed) for each in outcomes
        ),
        unused=tuple(unused),
        tables=tuple(
            CompiledTable(
                pipeline=each.pipeline,
                table=each.table,
                plan=each.plan,
                columns_in=_columns(each.columns_in),
                columns_out=_columns(each.columns_out),
            )
            for each in schemas
        ),
    )


def _columns(columns: Sequence[tuple[str, str]]) -> tuple[CompiledColumn, ...]:
    return tuple(CompiledColumn(name=name, type=kind) for name, kind in columns)
