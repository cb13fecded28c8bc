"""The catalog as it is given back to a tap: one stream is chosen, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.singer.catalog import STREAM, Stream, metadata_of, wanted_properties


def chosen_catalog(
    streams: Sequence[Stream],
    chosen: Stream,
    *,
    select: Sequence[str] | None,
    metadata: Mapping[str, Mapping[str, Any]],
    incremental: str | None,
    is_legacy: bool,
) -> dict[str, Any]:
    """The tap's own catalog with `chosen` as the only stream that is selected.

    `metadata` has the last word, for any stream. With `is_legacy` the schema says it as well, as taps expect
    that were made before there was metadata. Raises PermanentFailure for what the stream cannot be read by.
    """
    replication = _replication(chosen, incremental)
    wanted = frozenset(wanted_properties(chosen, select))
    entries = []
    for stream in streams:
        is_chosen = stream is chosen
        said = {**(replication if is_chosen else {}), **metadata.get(stream.id, {})}
        entry = {**stream.entry, **_beside_metadata(said)}
        known = metadata_of(stream.entry)
        known[STREAM] = {**known.get(STREAM, {}), "selected": is_chosen, **said}
        if is_chosen:
            _select_properties(stream, known, wanted)
        entry["metadata"] = [
            {"breadcrumb": list(breadcrumb), "metadata": facts} for breadcrumb, facts in known.items()
        ]
        if is_legacy:
            entry["schema"] = _legacy_schema(
                stream, wanted if is_chosen else frozenset(), is_chosen=is_chosen
            )
        entries.append(entry)
    return {"streams": entries}


def _replication(stream: Stream, incremental: str | None) -> dict[str, Any]:
    """How the stream is read, where its metadata leaves that open."""
    facts = stream.metadata
    is_forced = bool(facts.get("forced-replication-method"))
    if incremental is not None:
        allowed = stream.valid_keys or (stream.replication_keys if is_forced else ())
        if (allowed and incremental not in allowed) or incremental not in stream.properties:
            raise PermanentFailure(
                f"the stream `{stream.id}` cannot be read by `{incremental}`",
                hint=f"it is read by `{'` or `'.join(stream.replication_keys)}`"
                if stream.replication_keys
                else "leave `incremental` away",
            )
        by_key = {"replication-key": incremental}
        return by_key if is_forced else {**by_key, "replication-method": "INCREMENTAL"}
    if is_forced or facts.get("replication-method") or stream.entry.get("replication_method"):
        return {}
    if stream.replication_keys:
        return {"replication-method": "INCREMENTAL", "replication-key": stream.replication_keys[0]}
    return {"replication-method": "FULL_TABLE"}


def _beside_metadata(said: Mapping[str, Any]) -> dict[str, Any]:
    """What taps also look for in the entry itself."""
    names = {"replication-method": "replication_method", "replication-key": "replication_key"}
    return {names[key]: value for key, value in said.items() if key in names}


def _select_properties(
    stream: Stream, known: dict[tuple[str, ...], dict[str, Any]], wanted: frozenset[str]
) -> None:
    for name in stream.properties:
        known.setdefault(("properties", name), {})
    for breadcrumb, facts in known.items():
        if breadcrumb != STREAM and len(breadcrumb) > 1:
            facts["selected"] = breadcrumb[1] in wanted and facts.get("inclusion") != "unsupported"


def _legacy_schema(stream: Stream, wanted: frozenset[str], *, is_chosen: bool) -> Any:
    schema = stream.entry.get("schema")
    if not isinstance(schema, Mapping):
        return schema
    properties = {
        name: {**inner, "selected": name in wanted} if isinstance(inner, Mapping) else inner
        for name, inner in stream.properties.items()
    }
    return {**schema, "selected": is_chosen, "properties": properties}
