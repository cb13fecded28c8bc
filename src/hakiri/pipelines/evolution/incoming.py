"""What a pipeline brings, as a shape: with the names, the key and the renames that the manifest declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.pipelines.evolution.shapes import TableShape, declared_renamed
from hakiri.sources.contract import OP_COLUMN

if TYPE_CHECKING:
    from hakiri.manifest import TableSpec


def incoming_shape(schema: pa.Schema, table: TableSpec, source_key: Sequence[str] = ()) -> TableShape:
    """The shape of rows with these columns: the key is the manifest's, else the one that the source tells.

    `_op` says what a row does and is no column of the table. A rename in the manifest counts like one that
    the source declares.
    """
    fields = []
    for field in schema:
        spec = table.columns.get(field.name)
        former = None if spec is None else spec.renamed_from
        if field.name != OP_COLUMN:
            fields.append(field if former is None else declared_renamed(field, former))
    key = source_key if table.primary_key is None else table.primary_key
    return TableShape(schema=pa.schema(fields), primary_key=tuple(key))
