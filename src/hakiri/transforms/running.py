"""Running the author's steps, and finding the author's line when Spark refuses what they made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.engine.words import TRACEBACK_LINE, spark_words
from hakiri.transforms.errors import TransformFailed
from hakiri.transforms.loading import LoadedTransform
from hakiri.transforms.places import place_in_project, place_of_error, words_of_error

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame


def run_steps(source: DataFrame, steps: Iterable[LoadedTransform], root: Path) -> DataFrame:
    """The source through every step, one after the other; nothing is computed yet.

    Raises TransformFailed, with the author's line, for whatever a step raises.
    """
    frame = source
    for step in steps:
        frame = _run_step(step, frame, root)
    return frame


def failed_step(error: PySparkException, pipeline: str, root: Path) -> TransformFailed | None:
    """The failure as the author's, if Spark's error names one of the author's lines; else None."""
    place = _called_from(error, root) or _last_traceback_line(str(error), root)
    return TransformFailed(place, pipeline, spark_words(error)) if place else None


def _run_step(step: LoadedTransform, frame: DataFrame, root: Path) -> DataFrame:
    from pyspark.errors import PySparkException, PythonException
    from pyspark.sql import DataFrame

    try:
        result = step.function(frame)
    except PySparkException as error:
        if error.getCondition() is None and not isinstance(error, PythonException):
            raise  # not about the plan: the connection is lost
        place = place_of_error(error, root) or step.place
        raise TransformFailed(place, step.pipeline, spark_words(error)) from error
    except Exception as error:
        place = place_of_error(error, root) or step.place
        raise TransformFailed(place, step.pipeline, words_of_error(error)) from error
    if not isinstance(result, DataFrame):
        raise TransformFailed(
            step.place, step.pipeline, f"it returned {type(result).__name__} and not a DataFrame"
        )
    return result


def _called_from(error: PySparkException, root: Path) -> Place | None:
    """Where the expression was written that Spark blames: it remembers the line for every column."""
    from pyspark.errors import QueryContextType

    for context in error.getQueryContext():
        if context.contextType() == QueryContextType.DataFrame:
            file, _, line = context.callSite().rpartition(":")
            if line.isdigit() and (place := place_in_project(file, int(line), root)):
                return place
    return None


def _last_traceback_line(text: str, root: Path) -> Place | None:
    places = [place_in_project(file, int(line), root) for file, line in TRACEBACK_LINE.findall(text)]
    return next((place for place in reversed(places) if place), None)
