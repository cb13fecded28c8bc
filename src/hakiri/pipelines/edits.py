"""What was edited in a declaration since it was applied, key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.manifest import dump_pipeline
from hakiri.pipelines.applied import compiled_texts, declared_hash

if TYPE_CHECKING:
    from hakiri.catalog.contract.pipelines import AppliedSpec
    from hakiri.manifest import PipelineSpec

TRANSFORMS = "transforms"
COMPILED_BEFORE, COMPILED_ANEW = "as compiled before", "compiled anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One key of the manifest: `backfill.window`, `tables.orders.lag`. None is a key that is not there."""

    key: str
    before: Any
    after: Any


def edits_since(applied: AppliedSpec, spec: PipelineSpec, root: Path) -> tuple[Edit, ...]:
    """Everything that differs from what was applied, compiled transforms included."""
    before = json.loads(applied.spec_json)
    after = json.loads(json.dumps(dump_pipeline(spec)))
    edits = list(_edits("", before, after))
    # With the transforms of now, the hash of what was declared then is the one of then if they are the same.
    if declared_hash(before, compiled_texts(spec, root)) != applied.spec_hash and not any(
        edit.key.startswith(TRANSFORMS) for edit in edits
    ):
        edits.append(Edit(key=TRANSFORMS, before=COMPILED_BEFORE, after=COMPILED_ANEW))
    return tuple(edits)


def _edits(key: str, before: Any, after: Any) -> Iterator[Edit]:
    if before == after:
        return
    if key == "tables":
        old, new = _by_name(before), _by_name(after)
        yield from _edits_of_parts(key, old, new)
        if old == new:
            yield Edit(key=key, before=list(old), after=list(new))  # in another order
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _edits_of_parts(key, before, after)
    else:
        yield Edit(key=key, before=before, after=after)


def _edits_of_parts(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Edit]:
    for name in sorted({*before, *after}):
        yield from _edits(f"{key}.{name}" if key else name, before.get(name), after.get(name))


def _by_name(tables: list[Any]) -> dict[str, Any]:
    """Tables by their names, each as an object."""
    objects = [{"name": table} if isinstance(table, str) else table for table in tables]
    return {table["name"]: table for table in objects}
