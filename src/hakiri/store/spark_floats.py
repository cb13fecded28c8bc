"""The texts of floats by Spark, digit for digit those of Python and DuckDB: Java has a form of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from hakiri.store.row_json import FLOAT_DIGITS

if TYPE_CHECKING:
    from pyspark.sql import Column

# Where Python and DuckDB begin to write floats with an exponent; Java begins earlier.
_PLAIN_DIGITS = 16
_DOUBLE_DIGITS = range(15, 18)  # fifteen never say too much, and seventeen always say enough
_FEWEST_EXPONENT = -4


def float_text(value: Column, *, is_single: bool) -> Column:
    """A float as Python and DuckDB write it: `15000000.0` for `1.5E7`."""
    from pyspark.sql import functions as F

    sign = F.when(value.cast("string").startswith("-"), F.lit("-")).otherwise(F.lit(""))
    return (
        F.when(F.isnan(value), F.lit("nan"))
        .when(F.abs(value) == F.lit(float("inf")), F.concat(sign, F.lit("inf")))
        .when(value == F.lit(0), F.concat(sign, F.lit("0.0")))
        .otherwise(F.concat(sign, _bound(_digits(F.abs(value), is_single=is_single), _number_text)))
    )


def _digits(value: Column, *, is_single: bool) -> Column:
    """The fewest digits that read back as the same float, as a whole number and a power of ten.

    Java's are not always the fewest before its version 19. They are rounded, until they do not read back.
    """
    from pyspark.sql import functions as F

    number = value.cast("double")
    # Of large whole numbers Java rounds some digits away; as `bigint` they have all of them.
    is_whole = (number >= F.lit(2.0**53)) & (number < F.lit(2.0**63))
    whole = number.try_cast("bigint").cast("string")
    scientific = F.concat(F.substring(whole, 1, 1), F.lit("."), F.substring(whole, 2, 18), F.lit("e"))
    java = F.when(is_whole, F.concat(scientific, (F.length(whole) - F.lit(1)).cast("string")))
    java = java.otherwise(F.format_string("%.17e", number))
    parts = F.struct(
        F.substring_index(java, "e", 1).try_cast("decimal(19, 18)").alias("mantissa"),
        F.substring_index(java, "e", -1).try_cast("int").alias("exponent"),
    )

    def rounded(java: Column, count: int, more: int) -> Column:
        whole = F.bround(java["mantissa"], count - 1) * F.lit(Decimal(10) ** (count - 1)) + F.lit(more)
        power = java["exponent"] - F.lit(count - 1)
        return F.struct(whole.cast("bigint").alias("digits"), power.alias("power"))

    def reads_back(number: Column) -> Column:
        read = F.concat_ws("E", number["digits"], number["power"]).try_cast("double")
        return (read.cast("float") if is_single else read) == value

    def first(java: Column, counts: range, *more: int) -> Column:
        tried = [rounded(java, count, each) for count in counts for each in (0, *more)]
        return F.get(F.filter(F.array(*tried), reads_back), F.lit(0))

    if is_single:
        return _bound(parts, lambda java: first(java, FLOAT_DIGITS))
    is_tiny = value < F.lit(sys.float_info.min)  # with fewer bits, which need fewer digits
    fewest = range(1, _DOUBLE_DIGITS.stop)
    # Beside a power of two the next number may read back where the nearest does not.
    return _bound(
        parts, lambda java: F.when(is_tiny, first(java, fewest)).otherwise(first(java, _DOUBLE_DIGITS, 1))
    )


def _number_text(number: Column) -> Column:
    """The text of a number above zero: plain where Python and DuckDB write it so, else with an exponent."""
    from pyspark.sql import functions as F

    whole = number["digits"].cast("string")
    digits, exponent = F.rtrim(whole, F.lit("0")), number["power"] + F.length(whole) - F.lit(1)
    point, power = exponent + F.lit(1), F.abs(exponent).cast("string")
    padded = F.rpad(digits, F.greatest(point + F.lit(1), F.length(digits)), F.lit("0"))
    large = F.concat(F.substr(padded, F.lit(1), point), F.lit("."), F.substr(padded, point + F.lit(1)))
    small = F.concat(F.lit("0."), F.repeat(F.lit("0"), -point), digits)
    written = F.concat(
        F.concat_ws(".", F.substring(digits, 1, 1), F.nullif(F.substring(digits, 2, 20), F.lit(""))),
        F.when(exponent < 0, F.lit("e-")).otherwise(F.lit("e+")),
        F.lpad(power, F.greatest(F.lit(2), F.length(power)), F.lit("0")),
    )
    return (
        F.when(exponent.between(0, _PLAIN_DIGITS - 1), large)
        .when(exponent.between(_FEWEST_EXPONENT, -1), small)
        .otherwise(written)
    )


def _bound(value: Column, make: Callable[[Column], Column]) -> Column:
    """What is made of a value that is used often: without this it would be computed for each use."""
    from pyspark.sql import functions as F

    return F.element_at(F.transform(F.array(value), make), F.lit(1))
