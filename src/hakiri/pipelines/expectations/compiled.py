"""Expectations of one table, ready to be checked on every row while it passes through Spark once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.manifest import ExpectationSpec, OnFail, expectation_names
from hakiri.pipelines.expectations.errors import (
    BadExpectations,
    Broken,
    ExpectationFailed,
    NotCheckable,
    Trouble,
)
from hakiri.pipelines.expectations.kinds import Kind, is_above, is_below, kind_of, misfit, value_column
from hakiri.pipelines.expectations.words import expected_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import Column
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.observation import Observation
    from pyspark.sql.connect.proto import Expression

    from hakiri.manifest import RangeSpec
    from hakiri.pipelines.expectations.predicates import Predicate


def _nowhere(_: int) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation: what it is called, what it expects in words, and how it is looked at."""

    name: str
    expected: str
    spec: ExpectationSpec
    kind: Kind = Kind.OTHER
    predicate: Expression | None = None

    @property
    def on_fail(self) -> OnFail:
        return self.spec.on_fail

    @property
    def is_of_one_row(self) -> bool:
        """Whether a row alone shows it; else it takes all rows of the attempt."""
        return self.spec.check != "unique"

    @property
    def origin(self) -> str:
        """What Spark's errors call the place where it is written."""
        return f"expectation {self.name}"

    @property
    def reason(self) -> str:
        """Why a row went to quarantine."""
        return f"expected {self.expected}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """All expectations of one table over rows of one form.

    `absent` are columns that the table has and these rows do not: all of them are NULL. With `has_ops` the
    rows say in `_op` what they do; deletes hold no more than their key, and nothing is expected of them.
    """

    table: str
    each: tuple[Expectation, ...]
    absent: pa.Schema
    has_ops: bool = False

    @property
    def looks_at_rows(self) -> bool:
        """Whether any is of one row, so that rows have to pass through Spark for it."""
        return bool(self._of_one_row())

    @property
    def uniques(self) -> tuple[Expectation, ...]:
        """Those that take all rows of an attempt; see `repeats_in`."""
        return tuple(each for each in self.each if not each.is_of_one_row)

    def marked(self, rows: DataFrame) -> DataFrame:
        """The rows with `_reason`: NULL, or the first expectation that sends them to quarantine, in words."""
        from pyspark.sql import functions as F

        from hakiri.store.rows import REASON

        reasons = [
            F.when(self._is_broken(each), F.lit(each.reason))
            for each in self._of_one_row()
            if each.on_fail == "quarantine"
        ]
        whole = self._with_absent(rows)
        reason = F.coalesce(*reasons) if reasons else F.lit(None).cast("string")
        return cast("DataFrame", whole.withColumn(REASON, reason).drop(*self.absent.names))

    def counted(self, marked: DataFrame, seen: Observation) -> DataFrame:
        """The marked rows, counted on their way: what `violations` reads from the observation afterwards.

        `fail` and `warn` count rows that stay, `quarantine` those that leave for this very reason.
        """
        from pyspark.sql import functions as F

        from hakiri.store.rows import REASON

        counters = []
        for number, each in enumerate(self._of_one_row()):
            stays = F.col(REASON).isNull()
            is_quarantined = F.col(REASON) == each.reason
            is_one = is_quarantined if each.on_fail == "quarantine" else stays & self._is_broken(each)
            counters.append(F.count_if(is_one).alias(_counter(number)))
        if not counters:
            return marked
        counted = self._with_absent(marked).observe(seen, *counters)
        return cast("DataFrame", counted.drop(*self.absent.names))

    def violations(self, seen: Observation) -> dict[str, int]:
        """How many rows broke each expectation of one row, by name, once the rows have passed."""
        counts = seen.get if self._of_one_row() else {}
        return {each.name: int(counts[_counter(number)]) for number, each in enumerate(self._of_one_row())}

    def require(self, violations: Mapping[str, int]) -> None:
        """Raise ExpectationFailed if an expectation that says `fail` was broken."""
        broken = self.broken(violations, "fail")
        if broken:
            raise ExpectationFailed(self.table, broken)

    def broken(self, violations: Mapping[str, int], on_fail: OnFail) -> tuple[Broken, ...]:
        """The expectations of this consequence that rows broke."""
        return tuple(
            Broken(name=each.name, expected=each.expected, rows=violations[each.name])
            for each in self.each
            if each.on_fail == on_fail and violations.get(each.name, 0)
        )

    def explain(self, error: PySparkException) -> BadExpectations | None:
        """What Spark raised as the fault of an expectation, if it is one: a wrong type, a division by 0."""
        from pyspark.errors import AnalysisException

        from hakiri.engine.words import spark_words
        from hakiri.pipelines.expectations.predicates import origins_in

        origins = origins_in(error)
        # Once rows are read, what Spark says may hold their values.
        is_about_types = isinstance(error, AnalysisException)
        problem = (
            spark_words(error) if is_about_types else f"Spark stops at a row with {error.getCondition()}"
        )
        hint = "write a condition that can be told of every row; `try_cast` and `try_divide` give NULL"
        troubles = [
            Trouble(name=each.name, problem=problem, hint=hint)
            for each in self.each
            if each.origin in origins
        ]
        return BadExpectations(self.table, troubles) if troubles else None

    def _of_one_row(self) -> tuple[Expectation, ...]:
        return tuple(each for each in self.each if each.is_of_one_row)

    def _with_absent(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        from hakiri.sources.bridge.schemas import spark_schema

        fields = spark_schema(self.absent, self.table).fields
        nulls = {field.name: F.lit(None).cast(field.dataType) for field in fields}
        return cast("DataFrame", rows.withColumns(nulls)) if nulls else rows

    def _is_broken(self, expectation: Expectation) -> Column:
        """True for a row that breaks the expectation; false or NULL for any other."""
        from pyspark.sql import functions as F

        from hakiri.store.rows import OP, Op

        is_wrong = _is_wrong(expectation)
        return is_wrong & ~F.col(OP).eqNullSafe(Op.DELETE.value) if self.has_ops else is_wrong


def check_expectations(
    expectations: Sequence[ExpectationSpec],
    *,
    table: str,
    columns: pa.Schema | None = None,
    place_of: Callable[[int], Place | None] = _nowhere,
) -> tuple[Expectation, ...]:
    """What can be found wrong without Spark; with the table's columns, also unknown names and wrong types.

    Raises BadExpectations with everything. `place_of` tells where the expectation of a number is written.
    """
    made: list[Expectation] = []
    troubles: list[Trouble] = []
    for number, (name, spec) in enumerate(zip(expectation_names(expectations), expectations, strict=True)):
        try:
            made.append(_made(name, spec, columns))
        except NotCheckable as error:
            place = place_of(number)
            troubles.append(Trouble(name=name, problem=str(error), hint=error.hint, place=place))
    if troubles:
        raise BadExpectations(table, troubles)
    return tuple(_told_apart(made))


def compile_expectations(
    expectations: Sequence[ExpectationSpec],
    *,
    table: str,
    rows: pa.Schema,
    stored: pa.Schema | None = None,
    place_of: Callable[[int], Place | None] = _nowhere,
) -> Expectations | None:
    """The expectations over rows of this form; None if there are none. Raises BadExpectations.

    `stored` are the table's own columns: what it has and the rows have not is NULL in all of them.
    """
    import pyarrow as pa

    from hakiri.store.rows import OP

    if not expectations:
        return None
    known = {name.casefold() for name in rows.names}
    absent = pa.schema([field for field in stored or () if field.name.casefold() not in known])
    columns = pa.schema([*rows, *absent])
    return Expectations(
        table=table,
        each=check_expectations(expectations, table=table, columns=columns, place_of=place_of),
        absent=absent,
        has_ops=OP in rows.names,
    )


def _made(name: str, spec: ExpectationSpec, columns: pa.Schema | None) -> Expectation:
    made = Expectation(name=name, expected=expected_of(spec), spec=spec)
    if spec.predicate is not None:
        return replace(made, predicate=_plan_of(spec.predicate, columns))
    if columns is None:
        return made
    column = spec.column or ""
    if column not in columns.names:
        raise _unknown(column, columns.names)
    kind = kind_of(columns.field(column).type)
    if (why := misfit(spec, kind)) is not None:
        hint = "compare it with values of its own kind, or write a `predicate`"
        raise NotCheckable(f"`{column}` {why}", hint)
    return replace(made, kind=kind)


def _plan_of(predicate: str, columns: pa.Schema | None) -> Expression:
    from hakiri.pipelines.expectations.predicates import read_predicate

    read = read_predicate(predicate)
    if columns is not None:
        _match_columns(read, columns)
    return read.plan


def _match_columns(read: Predicate, columns: pa.Schema) -> None:
    fields = {field.name.casefold(): field for field in columns}  # SQL does not mind the case of a name
    for column in read.columns:
        if column.casefold() not in fields:
            raise _unknown(column, columns.names)
        kind = kind_of(fields[column.casefold()].type)
        if read.is_column and kind is not Kind.FLAG:
            raise NotCheckable(
                f"`{column}` is a column of {kind}, and no condition", "compare it with something"
            )


def _unknown(column: str, known: Sequence[str]) -> NotCheckable:
    meant = nearest(column, known)
    listed = ", ".join(f"`{name}`" for name in known)
    hint = f"did you mean `{meant}`?" if meant else f"its columns are {listed}"
    return NotCheckable(f"there is no column `{column}`", hint)


def _told_apart(expectations: Sequence[Expectation]) -> Iterator[Expectation]:
    """The same, with its name wherever two would give one reason: long lists are shown by their beginning."""
    reasons = [each.expected for each in expectations]
    for each in expectations:
        is_alone = reasons.count(each.expected) == 1
        yield each if is_alone else replace(each, expected=f"{each.expected} ({each.name})")


def _counter(number: int) -> str:
    return f"expectation_{number}"


def _is_wrong(expectation: Expectation) -> Column:
    from pyspark.sql import functions as F

    from hakiri.pipelines.expectations.predicates import broken_predicate

    spec = expectation.spec
    if expectation.predicate is not None:
        return broken_predicate(expectation.predicate, expectation.origin)
    column = F.col(quoted(spec.column or ""))
    if spec.not_null:
        return column.isNull()
    if spec.range is not None:
        return _is_outside(column, spec.range, expectation.kind)
    return ~column.isin(*(value_column(value, expectation.kind) for value in spec.in_ or ()))


def _is_outside(column: Column, span: RangeSpec, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    outside = F.isnan(column) if kind.is_float else F.lit(False)  # noqa: FBT003 - a column that is false
    if span.min is not None:
        outside = outside | is_below(column, span.min, kind)
    if span.max is not None:
        outside = outside | is_above(column, span.max, kind)
    return outside


def quoted(column: str) -> str:
    """The name as Spark reads it: one name, whatever is in it."""
    escaped = column.replace("`", "``")
    return f"`{escaped}`"
