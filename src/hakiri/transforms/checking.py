"""Whether a plan may run: the same for one that was just compiled and for one that was stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.transforms.errors import InputReadTwice
from hakiri.transforms.offline import INPUT
from hakiri.transforms.verify import verify_plan
from hakiri.transforms.walking import times_read

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation


def check_plan(plan: Relation, references: Collection[str], *, pipeline: str, place: Place) -> None:
    """Raise PlanRefused for what no plan may do, and InputReadTwice for one that reads its input twice."""
    verify_plan(plan, inputs=(INPUT, *references))
    if times_read(plan, INPUT) > 1:
        raise InputReadTwice(place, pipeline)
