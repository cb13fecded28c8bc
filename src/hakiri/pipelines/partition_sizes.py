"""How many partitions a table will have, and how large, told before one of them is written. Pure."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from hakiri.core.grammar import format_size
from hakiri.manifest.tables import CompactionSpec

MOST_PARTITIONS = 1000
SMALL_PARTITION_BYTES = 16_000_000
# What a value takes in Parquet, compressed, if nothing is known but that there is one.
GUESSED_BYTES_A_VALUE = 8
_RECENT = re.compile(r"recent_[0-9]+[dwmy]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRule:
    """What the manifest wants: a partition for each value of a column, for each unit of it, or two by age."""

    text: str
    key: str
    column: str | None
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What is known of a table that is to be partitioned, without reading a row.

    - `sizes`: the bytes of each partition that is written already.
    - `values`: so many different values the column has at least.
    - `lowest` and `highest`: between which its values lie, as far as they are times.
    """

    bytes: int | None = None
    sizes: tuple[int, ...] = ()
    values: int = 0
    lowest: datetime | date | str | int | None = None
    highest: datetime | date | str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Partitions to come; None for what nobody can tell."""

    partitions: int | None
    median_bytes: float | None


def rule_of(spec: CompactionSpec) -> PartitionRule | None:
    """How a table is to be partitioned, or None if it is not."""
    if spec.partition_by is not None:
        by = spec.partition_by
        text = by.column if by.unit is None else f"{by.unit}({by.column})"
        return PartitionRule(text=text, key="partition_by", column=by.column, unit=by.unit)
    if spec.access_pattern is None:
        return None
    if _RECENT.fullmatch(spec.access_pattern):
        return PartitionRule(text=spec.access_pattern, key="access_pattern", column=None)
    column = spec.access_pattern.removeprefix("by_")
    return PartitionRule(text=column, key="access_pattern", column=column)


def projected(rule: PartitionRule, facts: PartitionFacts) -> Projection:
    """How many partitions there will be, and how large half of them are at most.

    What is written already is believed first; then the span of times; then how many values were seen.
    """
    if facts.sizes:
        written = sum(facts.sizes)
        growth = max(facts.bytes or written, 1) / max(written, 1)
        return Projection(
            partitions=len(facts.sizes), median_bytes=statistics.median(facts.sizes) * max(growth, 1.0)
        )
    partitions = _count(rule, facts)
    median = None if facts.bytes is None else facts.bytes / max(partitions or 1, 1)
    return Projection(partitions=partitions, median_bytes=median)


def cautions(table: str, rule: PartitionRule, projection: Projection) -> Iterator[str]:
    """What to be warned of: partitions that are too many, or mostly too small to be worth a file."""
    said = f'table `{table}` with `{rule.key} = "{rule.text}"`'
    if projection.partitions is not None and projection.partitions > MOST_PARTITIONS:
        yield (
            f"{said} will have {projection.partitions:,} partitions or more, and {MOST_PARTITIONS:,} are "
            f"many; {_coarser(rule)}"
        )
    if projection.median_bytes is not None and projection.median_bytes < SMALL_PARTITION_BYTES:
        size = format_size(int(projection.median_bytes))
        yield (
            f"{said}: half of its partitions will have {size} or less, and below "
            f"{format_size(SMALL_PARTITION_BYTES)} a partition costs more than it saves; "
            f"take `{rule.key}` out, and sort by `cluster_by`"
        )


def guessed_bytes(rows: int | None, columns: int) -> int | None:
    """About what so many rows take in Parquet."""
    return None if rows is None else rows * columns * GUESSED_BYTES_A_VALUE


def _coarser(rule: PartitionRule) -> str:
    units = ("hour", "day", "month", "year")
    if rule.unit in units[:-1]:
        return f"partition by `{units[units.index(rule.unit) + 1]}({rule.column})`, or sort by `cluster_by`"
    return f"take `{rule.key}` out, and sort by `cluster_by`"


def _count(rule: PartitionRule, facts: PartitionFacts) -> int | None:
    if rule.column is None:
        return 2
    if rule.unit is None:
        return facts.values or None
    lowest, highest = _moment(facts.lowest), _moment(facts.highest)
    if lowest is None or highest is None:
        return None
    return max(_step(rule.unit, highest) - _step(rule.unit, lowest) + 1, 1)


def _moment(value: datetime | date | str | int | None) -> datetime | None:
    """The value as a moment, if it is one; texts are as sources tell them."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else None


def _step(unit: str, moment: datetime) -> int:
    """The number of the year, month, day or hour that a moment lies in."""
    if unit == "year":
        return moment.year
    if unit == "month":
        return moment.year * 12 + moment.month
    return moment.toordinal() if unit == "day" else moment.toordinal() * 24 + moment.hour


def spread(items: Sequence[str], most: int) -> tuple[str, ...]:
    """Some of the items, evenly from first to last, both among them."""
    if len(items) <= most:
        return tuple(items)
    return tuple(items[number * (len(items) - 1) // (most - 1)] for number in range(most))
