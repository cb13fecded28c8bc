"""Values of cursor columns: as JSON in cursors and windows, and as literals in SQL."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from hakiri.sources.contract import Bound
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.sql.relations import Column, Grain, text_literal

_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2})T00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)")


def bound_of(value: pa.Scalar) -> Bound | None:
    """The value as cursors and windows carry it. Moments with a zone are in UTC and end with `Z`."""
    plain: Any = value.as_py()
    if plain is None or isinstance(plain, int | str):
        return plain
    if isinstance(plain, datetime):
        return plain.isoformat().replace("+00:00", "Z")
    if isinstance(plain, date):
        return plain.isoformat()
    return int(plain)  # a decimal without a fraction


def literal(column: Column, bound: Bound) -> str:
    """The bound in SQL, as a value of the column. Raises PermanentFailure when it is of another kind.

    A moment that is compared with days is the next midnight: `day >= 08:00` begins with the day after, and
    `day < 08:00` ends with the day itself. One without a zone is in UTC, and so are columns without one.
    """
    match column.grain:
        case Grain.NUMBER if isinstance(bound, int) and not isinstance(bound, bool):
            return str(bound)
        case Grain.TEXT if isinstance(bound, str):
            return text_literal(bound) + column.key_cast
        case Grain.MOMENT if isinstance(bound, str):
            moment = _moment(column, bound)
            return text_literal(moment.isoformat(sep=" ")) + column.key_cast
        case Grain.LOCAL_MOMENT if isinstance(bound, str):
            moment = _moment(column, bound).replace(tzinfo=None)
            return text_literal(moment.isoformat(sep=" ")) + column.key_cast
        case Grain.DAY if isinstance(bound, str):
            moment = _moment(column, bound)
            is_midnight = moment.timetz() == datetime.min.replace(tzinfo=UTC).timetz()
            day = moment.date() if is_midnight else moment.date() + timedelta(days=1)
            return text_literal(day.isoformat()) + column.key_cast
    raise _unfit(column, bound)


def window_literal(column: Column, bound: Bound) -> str:
    """The end of a window in SQL.

    Where moments are texts, some are written with a `T` and some with a blank in the middle. A midnight is
    cut down to its day, which stands before all moments of that day in either form.
    """
    if column.may_be_time and isinstance(bound, str) and (day := _MIDNIGHT.fullmatch(bound)):
        return literal(column, day[1])
    return literal(column, bound)


def _moment(column: Column, bound: str) -> datetime:
    try:
        moment = datetime.fromisoformat(bound)
    except ValueError:
        raise _unfit(column, bound) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _unfit(column: Column, bound: Bound) -> PermanentFailure:
    assert column.grain is not None  # noqa: S101 - only such columns are compared
    return PermanentFailure(
        f"column `{column.name}` holds {column.grain.value} and cannot be compared with `{bound}`",
        hint="give a bound of the column's kind, or forget the cursor if it is one of another column",
    )
