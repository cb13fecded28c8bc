"""Running compiled plans over a source's rows, and finding the author's line when Spark refuses them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.engine.connect import load_client
from hakiri.engine.words import TRACEBACK_LINE, spark_words
from hakiri.transforms.artifact import ENGINE, Artifact, artifact_path
from hakiri.transforms.compiling import EVERY_TABLE
from hakiri.transforms.errors import OtherEngine, TransformFailed
from hakiri.transforms.places import place_in_project

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.proto import Relation


def stored_plans(artifacts: Sequence[Artifact], table: str, references: Collection[str]) -> list[Relation]:
    """The plans that the rows of this table go through, in order, each of them verified.

    Reads nothing of an artifact but its plan. Raises PlanRefused, and OtherEngine for a plan of another
    generation of Spark.
    """
    load_client()
    from hakiri.transforms.checking import check_plan
    from hakiri.transforms.verify import read_plan

    plans = []
    for artifact in artifacts:
        place = Place(artifact_path(artifact.pipeline))
        if _generation(artifact.engine_version) != _generation(version("pyspark")):
            raise OtherEngine(place, ENGINE, artifact.engine_version)
        data = artifact.plan.get(table, artifact.plan.get(EVERY_TABLE))
        if data is None:
            continue
        plan = read_plan(data)
        check_plan(plan, references, pipeline=artifact.pipeline, place=place)
        plans.append(plan)
    return plans


def transformed(rows: DataFrame, plans: Sequence[Relation], references: Mapping[str, DataFrame]) -> DataFrame:
    """The rows through every plan, one after the other, as one lazy frame."""
    from hakiri.transforms.offline import INPUT, grafted

    frame = rows
    for plan in plans:
        frame = grafted(plan, {INPUT: frame, **references})
    return frame


def failed_step(error: PySparkException, pipeline: str, root: Path) -> TransformFailed | None:
    """The failure as the author's, if Spark's error names one of the author's lines; else None."""
    place = _called_from(error, root) or _last_traceback_line(str(error), root)
    return TransformFailed(place, pipeline, spark_words(error)) if place else None


def _generation(engine_version: str) -> str:
    """The major version: plans are understood by all of its versions, or refused by the verifier."""
    return engine_version.partition(".")[0]


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
