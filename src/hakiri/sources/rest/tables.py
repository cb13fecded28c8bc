"""The table that a resource becomes, by its config and what was seen of its records."""

from __future__ import annotations

import pyarrow as pa

from hakiri.core.nearest import nearest
from hakiri.sources.contract import EXTRA_COLUMN, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import SchemaSketch, declared_schema
from hakiri.sources.rest.config import Resource


def table_of(resource: Resource, sketch: SchemaSketch) -> Table:
    """Declared columns have their declared type, others the one that the sample tells; `_extra` is the last.

    What a table cannot do without is there as text, even if no record was seen: the primary key, the field
    that grows, and what is kept of a parent or a partition. Raises PermanentFailure if records were seen, and
    they have no primary key.
    """
    learnt = sketch.schema(resource.mixed, declared=declared_schema(resource.columns))
    kept = resource.parent.kept if resource.parent is not None else resource.partitions
    grows = None if resource.incremental is None else resource.incremental.column
    seen = list(sketch.record.fields)
    for name in resource.primary_key:
        if seen and name not in learnt.names:
            meant = nearest(name, seen)
            raise PermanentFailure(
                f"the records of `{resource.name}` have no `{name}`, which is in its primary key",
                hint=f"did you mean `{meant}`?" if meant else "check `primary_key` and `records`",
            )
    needed = dict.fromkeys((*resource.primary_key, *(() if grows is None else (grows,))))
    columns = [
        *(pa.field(name, pa.string()) for name in kept if name not in learnt.names),
        *learnt,
        *(pa.field(name, pa.string()) for name in needed if name not in {*learnt.names, *kept}),
        pa.field(EXTRA_COLUMN, pa.string()),
    ]
    return Table(
        name=resource.name,
        schema=pa.schema(columns),
        primary_key=resource.primary_key,
        cursor_fields=() if grows is None else (grows,),
        is_open=True,
    )
