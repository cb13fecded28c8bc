"""The catalog of a tap: which streams there are, as tables, and which of them a run shall give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hakiri.core.nearest import nearest
from hakiri.sources.contract import EXTRA_COLUMN, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.singer.messages import Schema
from hakiri.sources.singer.schemas import columns_of

STREAM: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as the catalog has it. `id` is what it is chosen by, and `name` what its messages say."""

    id: str
    name: str
    entry: Mapping[str, Any]
    is_in_catalog: bool = True

    @property
    def metadata(self) -> Mapping[str, Any]:
        return metadata_of(self.entry).get(STREAM, {})

    @property
    def key(self) -> tuple[str, ...]:
        said = self.metadata.get("table-key-properties") or self.metadata.get("view-key-properties")
        return _names(said or self.entry.get("key_properties"))

    @property
    def replication_keys(self) -> tuple[str, ...]:
        """What the stream may be read by, the usual one first."""
        usual = self.metadata.get("replication-key") or self.entry.get("replication_key")
        return tuple(dict.fromkeys((*_names(usual), *self.valid_keys)))

    @property
    def valid_keys(self) -> tuple[str, ...]:
        return _names(self.metadata.get("valid-replication-keys"))

    @property
    def properties(self) -> Mapping[str, Any]:
        schema = self.entry.get("schema")
        found = schema.get("properties") if isinstance(schema, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def inclusion(self, name: str) -> str:
        """`automatic`, `available` or `unsupported`; older taps write it into the schema."""
        said = metadata_of(self.entry).get(("properties", name), {}).get("inclusion")
        schema = self.properties.get(name)
        return str(said or (schema.get("inclusion") if isinstance(schema, Mapping) else None) or "available")

    def is_meant_by(self, name: str, others: Iterable[Stream]) -> bool:
        """Whether a message with this name is of this stream.

        Taps of databases may write less of the name into a message than into the catalog.
        """
        if name in (self.id, self.name):
            return True
        return self.id.endswith(f"-{name}") and all(name not in (other.id, other.name) for other in others)


def streams_in(catalog: Any, source: str) -> tuple[Stream, ...]:
    """The streams of a catalog; `source` says in words what it was. Raises PermanentFailure if it is none."""
    entries = catalog.get("streams") if isinstance(catalog, Mapping) else None
    if not isinstance(entries, list):
        raise PermanentFailure(
            f"{source} is no catalog: it has no list `streams`",
            hint="see what the tap prints when it is called with --discover",
        )
    streams = []
    for number, entry in enumerate(entries, start=1):
        name = entry.get("stream") if isinstance(entry, Mapping) else None
        known = entry.get("tap_stream_id", name) if isinstance(entry, Mapping) else None
        if not isinstance(known, str):
            raise PermanentFailure(f"stream {number} of {source} has no `tap_stream_id`")
        streams.append(Stream(id=known, name=name if isinstance(name, str) else known, entry=entry))
    return tuple(streams)


def stream_told(message: Schema) -> Stream:
    """The stream of a tap that has no catalog, as its own SCHEMA tells of it."""
    entry = {
        "schema": message.schema,
        "key_properties": list(message.key),
        "metadata": [
            {"breadcrumb": [], "metadata": {"valid-replication-keys": list(message.bookmarks)}},
        ],
    }
    return Stream(id=message.stream, name=message.stream, entry=entry, is_in_catalog=False)


def table_of(stream: Stream, select: Sequence[str] | None) -> Table:
    """The stream as a table: open, since a schema is a promise that rows may break."""
    wanted = wanted_properties(stream, select)
    columns = columns_of(stream.entry.get("schema"), wanted)
    # A table cannot do without its key, even if the schema does not know it.
    unknown = [name for name in stream.key if name not in columns.names]
    rows = stream.metadata.get("row-count")
    return Table(
        name=stream.id,
        schema=pa.schema(
            [
                *columns,
                *(pa.field(name, pa.string()) for name in unknown),
                pa.field(EXTRA_COLUMN, pa.string()),
            ]
        ),
        primary_key=stream.key,
        cursor_fields=tuple(name for name in stream.replication_keys if name in columns.names),
        estimated_rows=rows if type(rows) is int and rows >= 0 else None,
        is_open=True,
    )


def wanted_properties(stream: Stream, select: Sequence[str] | None) -> tuple[str, ...]:
    """The properties to ask for; raises PermanentFailure for one that the stream does not have."""
    given = [name for name in stream.properties if stream.inclusion(name) != "unsupported"]
    if select is None:
        return tuple(given)
    for name in select:
        if name not in given:
            meant = nearest(name, given)
            raise PermanentFailure(
                f"the stream `{stream.id}` has no property `{name}`",
                hint=f"did you mean `{meant}`?" if meant else "see `hakiri source tables`",
            )
    kept = {*select, *stream.key, *stream.replication_keys}
    return tuple(name for name in given if name in kept or stream.inclusion(name) == "automatic")


def metadata_of(entry: Mapping[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The metadata of a stream by breadcrumb; that of the stream itself has none."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in entry.get("metadata") or ():
        if isinstance(item, Mapping) and isinstance(item.get("metadata"), Mapping):
            found[tuple(item.get("breadcrumb") or ())] = dict(item["metadata"])
    return found


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()
