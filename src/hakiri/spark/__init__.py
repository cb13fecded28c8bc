"""The store in a Spark session of one's own: `hakiri.spark.register(spark, "path/to/project")`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.ids import TableName
from hakiri.store.frames import quarantine_frame, table_frame
from hakiri.store.places import store_place
from hakiri.store.state import table_state
from hakiri.store.views import quarantine_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession, project: Path | str = ".") -> tuple[str, ...]:
    """Give the session a temporary view for every table of the project's store, and return their names.

    The views have the names and the rows that DuckDB's have, of this moment: call it again to see what was
    committed since. Sessions of Spark Connect take it as well; whoever runs the tasks must reach the folder
    of the store. Raises NoProject where there is no project, and ManifestInvalid.
    """
    place = store_place(Path(project), os.environ)
    names: list[str] = []
    with place.catalog() as catalog:
        if catalog is None:
            return ()
        for path in sorted(place.layout.views.glob("*.sql")):
            state = table_state(place.layout, catalog, TableName(path.stem))
            if state is None:
                continue
            table_frame(spark, state).createOrReplaceTempView(state.table)
            names.append(state.table)
            if state.quarantine:
                aside = quarantine_name(state.table)
                quarantine_frame(spark, state).createOrReplaceTempView(aside)
                names.append(aside)
    return tuple(names)
