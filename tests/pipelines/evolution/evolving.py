"""Evolutions for the tests, called and told in few words."""

from __future__ import annotations

import pyarrow as pa

from hakiri.pipelines.evolution import Change, ContractMode, Evolution, TableShape, evolve


def evolved(
    stored: TableShape | None,
    incoming: TableShape,
    mode: str = "evolve",
    *,
    is_open: bool = False,
    exact: tuple[str, ...] = (),
) -> Evolution:
    return evolve(stored, incoming, mode=ContractMode(mode), is_open=is_open, exact=exact)


def told(changes: tuple[Change, ...]) -> list[str]:
    return [f"{change.kind}: {change} ({change.rule})" for change in changes]


def columns(evolution: Evolution) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in evolution.shape.schema}
