"""Arrow schemas as text, in the JSON form that Arrow's own integration tests speak.

It knows the types that Spark can hold, and no others: whatever comes in another type is cast before it is
stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hakiri.core.canonical import canonical_json, sha256_of
from hakiri.store.errors import UnfitColumns, UnreadableSchema

WAS = b"hakiri.was"
ACCEPTS = b"hakiri.accepts"
PRIMARY_KEY = "hakiri.primary_key"

_UNIT, _UNIT_NAME = "us", "MICROSECOND"  # of all moments and durations, as in Spark
_PLAIN: Mapping[pa.DataType, Mapping[str, Any]] = MappingProxyType(
    {
        pa.null(): {"name": "null"},
        pa.bool_(): {"name": "bool"},
        pa.string(): {"name": "utf8"},
        pa.binary(): {"name": "binary"},
        pa.date32(): {"name": "date", "unit": "DAY"},
        pa.float32(): {"name": "floatingpoint", "precision": "SINGLE"},
        pa.float64(): {"name": "floatingpoint", "precision": "DOUBLE"},
        pa.duration(_UNIT): {"name": "duration", "unit": _UNIT_NAME},
        pa.time64("us"): {"name": "time", "unit": "MICROSECOND", "bitWidth": 64},
        pa.time64("ns"): {"name": "time", "unit": "NANOSECOND", "bitWidth": 64},
        **{
            kind: {"name": "int", "bitWidth": kind.bit_width, "isSigned": True}
            for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
        },
    }
)
_PLAIN_KINDS = MappingProxyType({canonical_json(said): kind for kind, said in _PLAIN.items()})


def schema_text(schema: pa.Schema) -> str:
    """The schema as canonical JSON. Raises UnfitColumns for a type that the store does not keep.

    What says nothing about the values is left out: metadata of the schema as a whole, and how the elements
    of lists and maps are called.
    """
    return canonical_json(_said(schema))


def schema_from(text: str) -> pa.Schema:
    """The schema that the text says. Raises UnreadableSchema."""
    try:
        data = json.loads(text)
        return pa.schema([_field(field) for field in data["fields"]])
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise UnreadableSchema(f"{type(error).__name__}: {error}") from error


def keyed_text(text: str, primary_key: Sequence[str]) -> str:
    """The text of a schema with the table's primary key in its metadata, as `schema.json` has it."""
    key = {"key": PRIMARY_KEY, "value": canonical_json(list(primary_key))}
    return canonical_json(json.loads(text) | {"metadata": [key]})


def key_of(text: str) -> tuple[str, ...] | None:
    """The primary key that `schema.json` tells, None if it tells none. Raises UnreadableSchema."""
    try:
        said = {pair["key"]: pair["value"] for pair in json.loads(text).get("metadata", ())}
        return tuple(json.loads(said[PRIMARY_KEY])) if PRIMARY_KEY in said else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableSchema(f"{type(error).__name__}: {error}") from error


def fingerprint(schema: pa.Schema) -> str:
    """`sha256:` and the hash of the schema's text: equal for equal schemas everywhere."""
    return sha256_of(_said(schema))


def former_names(field: pa.Field) -> tuple[str, ...]:
    """What a column was called before, the oldest name first."""
    said = (field.metadata or {}).get(WAS)
    return () if said is None else tuple(json.loads(said))


def _said(schema: pa.Schema) -> dict[str, Any]:
    return {"fields": [_field_said(field, field.name) for field in schema]}


def _field_said(field: pa.Field, path: str, name: str | None = None) -> dict[str, Any]:
    said, children = _type_said(field.type, path)
    whole: dict[str, Any] = {
        "name": field.name if name is None else name,
        "nullable": field.nullable,
        "type": said,
        "children": children,
    }
    if field.metadata:
        pairs = sorted((key.decode(), value.decode()) for key, value in field.metadata.items())
        whole["metadata"] = [{"key": key, "value": value} for key, value in pairs]
    return whole


def _type_said(kind: pa.DataType, path: str) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    if pa.types.is_list(kind):
        return {"name": "list"}, [_field_said(kind.value_field, f"{path}[]", "element")]
    if pa.types.is_struct(kind) and kind.num_fields:
        return {"name": "struct"}, [_field_said(inner, f"{path}.{inner.name}") for inner in kind.fields]
    if pa.types.is_map(kind):
        key = _field_said(kind.key_field, f"{path}.key", "key")
        value = _field_said(kind.item_field, f"{path}.value", "value")
        entries = {
            "name": "entries",
            "nullable": False,
            "type": {"name": "struct"},
            "children": [key, value],
        }
        return {"name": "map", "keysSorted": False}, [entries]
    return _leaf_said(kind, path), []


def _leaf_said(kind: pa.DataType, path: str) -> Mapping[str, Any]:
    if pa.types.is_timestamp(kind) and kind.unit == _UNIT:
        zone = {} if kind.tz is None else {"timezone": kind.tz}
        return {"name": "timestamp", "unit": _UNIT_NAME, **zone}
    if pa.types.is_decimal128(kind):
        return {"name": "decimal", "precision": kind.precision, "scale": kind.scale, "bitWidth": 128}
    if kind in _PLAIN:
        return _PLAIN[kind]
    raise UnfitColumns(f"column `{path}` is of type {kind}, which the store does not keep")


def _field(said: Mapping[str, Any]) -> pa.Field:
    metadata = {pair["key"]: pair["value"] for pair in said.get("metadata", ())}
    kind = _type(said["type"], [_field(child) for child in said["children"]])
    return pa.field(said["name"], kind, nullable=said["nullable"], metadata=metadata or None)


def _type(said: Mapping[str, Any], children: list[pa.Field]) -> pa.DataType:
    if said["name"] in _READERS:
        return _READERS[said["name"]](said, children)
    text = canonical_json(said)
    if text not in _PLAIN_KINDS:
        raise ValueError(f"there is no type {text}")
    return _PLAIN_KINDS[text]


def _map(_: Mapping[str, Any], children: list[pa.Field]) -> pa.DataType:
    key, value = children[0].type.fields
    return pa.map_(key, value)


_READERS: Mapping[str, Callable[[Mapping[str, Any], list[pa.Field]], pa.DataType]] = MappingProxyType(
    {
        "timestamp": lambda said, _: pa.timestamp(_UNIT, said.get("timezone")),
        "decimal": lambda said, _: pa.decimal128(said["precision"], said["scale"]),
        "list": lambda _, children: pa.list_(children[0]),
        "struct": lambda _, children: pa.struct(children),
        "map": _map,
    }
)
