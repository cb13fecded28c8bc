"""What `settle` promises, told record by record and value by value, without any hurry."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa

from hakiri.sources.json_rows.paths import field_path, item_path
from hakiri.sources.json_rows.texts import json_text, parse_json
from hakiri.sources.json_rows.values import MISFIT, rule_for

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def settled_slowly(records: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows that `settle` gives with `_extra`."""
    rows = []
    for record in records:
        extra: dict[str, Any] = {}
        row = _struct(record, list(schema), None, extra)
        rows.append({**row, "_extra": json_text(sorted_by_path(extra)) if extra else None})
    columns = [*schema, pa.field("_extra", pa.string())]
    return pa.RecordBatch.from_struct_array(pa.array(rows, pa.struct(columns)))


def with_sorted_extra(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; the order inside of `_extra` is nobody's promise."""
    texts = [
        text and json_text(sorted_by_path(parse_json(text.encode()))) for text in batch["_extra"].to_pylist()
    ]
    return batch.set_column(batch.num_columns - 1, "_extra", pa.array(texts, pa.string()))


def sorted_by_path(extra: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(extra.items()))


def _struct(
    found: dict[str, Any], fields: list[pa.Field], path: str | None, extra: dict[str, Any]
) -> dict[str, Any]:
    names = {field.name for field in fields}
    extra |= {field_path(path, name): value for name, value in found.items() if name not in names}
    return {
        field.name: _value(found.get(field.name), field.type, field_path(path, field.name), extra)
        for field in fields
    }


def _value(value: Any, kind: pa.DataType, path: str, extra: dict[str, Any]) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return _struct(value, list(kind), path, extra)
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_value(item, kind.value_type, item_path(path, n), extra) for n, item in enumerate(value)]
    if pa.types.is_map(kind) and isinstance(value, dict):
        return [
            (name, _value(item, kind.item_type, field_path(path, name), extra))
            for name, item in value.items()
        ]
    settled = MISFIT if pa.types.is_nested(kind) else rule_for(kind)(value)
    if settled is MISFIT:
        extra[path] = value
        return None
    return settled


def assert_nothing_is_lost(records: list[dict[str, Any]], batch: pa.RecordBatch) -> None:
    """Every value of every record stands in its column, or in `_extra` and nowhere else."""
    assert batch.num_rows == len(records)
    kept = [parse_json(text.encode()) if text else {} for text in batch["_extra"].to_pylist()]
    fields = list(batch.schema)[:-1]
    for record, row, extra in zip(records, _rows(batch), kept, strict=True):
        _assert_fields_stand(record, row, fields, None, extra)
        assert not extra


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return batch.to_pylist(maps_as_pydicts="strict")


def _assert_fields_stand(
    found: dict[str, Any],
    row: dict[str, Any],
    fields: list[pa.Field],
    path: str | None,
    extra: dict[str, Any],
) -> None:
    types = {field.name: field.type for field in fields}
    for name, value in found.items():
        here = field_path(path, name)
        if name in types:
            _assert_value_stands(value, row[name], types[name], here, extra)
        else:
            assert is_same(extra.pop(here), value)
    assert all(row[name] is None for name in types.keys() - found.keys())


def _assert_value_stands(value: Any, cell: Any, kind: pa.DataType, path: str, extra: dict[str, Any]) -> None:
    if path in extra:
        assert cell is None
        assert is_same(extra.pop(path), value)
    elif value is None:
        assert cell is None
    elif pa.types.is_struct(kind):
        _assert_fields_stand(value, cell, list(kind), path, extra)
    elif pa.types.is_list(kind):
        assert len(cell) == len(value)
        for n, item in enumerate(value):
            _assert_value_stands(item, cell[n], kind.value_type, item_path(path, n), extra)
    elif pa.types.is_map(kind):
        assert cell.keys() == value.keys()
        for name, item in value.items():
            _assert_value_stands(item, cell[name], kind.item_type, field_path(path, name), extra)
    else:
        assert _says(cell, value)


def _says(cell: Any, value: Any) -> bool:
    """Whether the cell tells the value."""
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode() == value
    if isinstance(cell, datetime):
        return cell == _moment_told_by(value)
    if isinstance(cell, date):
        return cell.isoformat() == value
    if isinstance(cell, Decimal):
        return cell == Decimal(repr(value) if isinstance(value, float) else value)
    if isinstance(cell, str):
        return cell == (value if isinstance(value, str) else json_text(value))
    return type(cell) is bool if isinstance(value, bool) else bool(cell == value)


def _moment_told_by(text: str) -> datetime:
    moment = datetime.fromisoformat(text.upper())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_same(one: Any, other: Any) -> bool:
    """Equal in value and in kind, down to 1 and 1.0 and the order of names."""
    return bool(orjson.dumps(one, default=str) == orjson.dumps(other, default=str))


def moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
