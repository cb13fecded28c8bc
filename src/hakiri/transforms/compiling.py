"""From an author's steps to a plan, without Spark: run each step over frames that only write down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import HakiriError, Place
from hakiri.core.nearest import nearest
from hakiri.engine.connect import load_client
from hakiri.engine.words import spark_words
from hakiri.transforms.errors import TransformFailed, UnknownReference, UnknownTable
from hakiri.transforms.places import place_of_error, words_of_error
from hakiri.transforms.steps import LoadedTransform

if TYPE_CHECKING:
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.proto import Relation

EVERY_TABLE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the manifest says of a pipeline that its steps may name."""

    pipeline: str
    tables: tuple[str, ...]
    references: tuple[str, ...] = ()


def compile_steps(steps: Sequence[LoadedTransform], declared: Declared, root: Path) -> dict[str, Relation]:
    """The plan of every table that has one, by the table's name at the source; `*` is for all the others.

    The steps compose in their order. The plans are as the author's lines made them, and safe to run: raises
    TransformFailed with the author's line for whatever a step raises, and PlanRefused for what it may not do.
    """
    load_client()
    for step in steps:
        _check_names(step, declared)
    named = dict.fromkeys(step.target.table for step in steps if step.target.table is not None)
    plans = {table: _plan([step for step in steps if step.serves(table)], declared, root) for table in named}
    if general := [step for step in steps if step.target.table is None]:
        plans[EVERY_TABLE] = _plan(general, declared, root)
    return plans


def _check_names(step: LoadedTransform, declared: Declared) -> None:
    table = step.target.table
    if table is not None and table not in declared.tables:
        raise UnknownTable(step.place, declared.pipeline, table, nearest(table, declared.tables))
    for name in step.references or ():
        if name not in declared.references:
            raise UnknownReference(step.place, declared.pipeline, name, nearest(name, declared.references))


def _plan(steps: Sequence[LoadedTransform], declared: Declared, root: Path) -> Relation:
    from hakiri.transforms.checking import check_plan
    from hakiri.transforms.offline import INPUT, offline_table, relation_of
    from hakiri.transforms.sql import without_sql_text

    frame = offline_table(INPUT)
    references = {name: offline_table(name) for name in declared.references}
    for step in steps:
        wanted = declared.references if step.references is None else step.references
        frame = run_step(step, frame, {name: references[name] for name in wanted}, root)
    last = steps[-1]
    try:
        plan = without_sql_text(relation_of(frame))
        check_plan(plan, declared.references, pipeline=declared.pipeline, place=last.place)
    except HakiriError as error:
        if not error.places:
            error.places = (last.place,)
        raise
    return plan


def run_step(
    step: LoadedTransform, frame: DataFrame, references: Mapping[str, DataFrame], root: Path
) -> DataFrame:
    """What a step makes of the rows; raises TransformFailed with the author's line."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.dataframe import DataFrame

    try:
        result = step.function(frame, **references)
    except HakiriError as error:
        place = place_of_error(error, root) or _line_of(error, step)
        raise TransformFailed(place, step.pipeline, str(error), hint=error.hint) from error
    except PySparkException as error:
        raise TransformFailed(
            place_of_error(error, root) or step.place, step.pipeline, spark_words(error)
        ) from error
    except Exception as error:
        raise TransformFailed(
            place_of_error(error, root) or step.place, step.pipeline, words_of_error(error)
        ) from error
    if not isinstance(result, DataFrame):
        raise TransformFailed(
            step.place, step.pipeline, f"it returned {type(result).__name__} and not a DataFrame"
        )
    return result


def _line_of(error: HakiriError, step: LoadedTransform) -> Place:
    line = getattr(error, "line", None)
    return Place(step.place.file, line) if isinstance(line, int) else step.place


def languages(steps: Iterable[LoadedTransform]) -> str:
    """What the steps are written in: `python`, `sql`, or `python+sql`."""
    return "+".join(sorted({step.language for step in steps}))
