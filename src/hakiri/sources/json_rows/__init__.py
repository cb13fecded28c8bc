"""JSON records into Arrow by rule: structure is kept, mixed types are settled, nothing is silently NULL."""

from hakiri.sources.json_rows.errors import BadJson, NoRecords, NotWritable, RowsDoNotFit, UnsupportedType
from hakiri.sources.json_rows.inference import MixedTypes, SchemaSketch, infer_schema
from hakiri.sources.json_rows.pages import needs_digits, records_at, settle_page
from hakiri.sources.json_rows.settling import settle, settle_or_sift, sift
from hakiri.sources.json_rows.texts import json_text, parse_json
from hakiri.sources.json_rows.types import declared_schema, parse_type, type_text

__all__ = [
    "BadJson",
    "MixedTypes",
    "NoRecords",
    "NotWritable",
    "RowsDoNotFit",
    "SchemaSketch",
    "UnsupportedType",
    "declared_schema",
    "infer_schema",
    "json_text",
    "needs_digits",
    "parse_json",
    "parse_type",
    "records_at",
    "settle",
    "settle_or_sift",
    "settle_page",
    "sift",
    "type_text",
]
