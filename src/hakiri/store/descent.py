"""Which column of an older schema a column of today is, however it was renamed since. Pure.

Every field, also inside structs, has an identity that it keeps from version to version: a renamed one says in
its metadata what it was called, and a name that comes back after a rename is a new field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import pyarrow as pa

from hakiri.store.schemas import former_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A field of one version. Its children are the fields inside its type, see `inner_fields`."""

    identity: int
    field: pa.Field
    children: tuple[Node, ...]

    @property
    def name(self) -> str:
        name: str = self.field.name
        return name

    @property
    def kind(self) -> pa.DataType:
        return self.field.type


def descent(schemas: Mapping[int, pa.Schema]) -> dict[int, tuple[Node, ...]]:
    """The fields of every version, with identities that hold across them."""
    identities = count()
    known: dict[int, tuple[Node, ...]] = {}
    previous: tuple[Node, ...] = ()
    for version in sorted(schemas):
        previous = known[version] = _stepped(list(schemas[version]), previous, identities)
    return known


def _stepped(
    fields: Sequence[pa.Field], previous: tuple[Node, ...], identities: Iterator[int]
) -> tuple[Node, ...]:
    """The fields of the next version, each with the identity of the one it comes from, if there is one."""
    origins = _origins(fields, {node.name: node for node in previous})
    made = []
    for field in fields:
        origin = origins.get(field.name)
        made.append(
            Node(
                identity=next(identities) if origin is None else origin.identity,
                field=field,
                children=_children(field.type, origin, identities),
            )
        )
    return tuple(made)


def _origins(fields: Sequence[pa.Field], previous: Mapping[str, Node]) -> dict[str, Node]:
    left = dict(previous)
    found: dict[str, Node] = {}
    for field in fields:
        same = previous.get(field.name)
        if same is not None and former_names(same.field) == former_names(field):
            found[field.name] = left.pop(field.name)
    for field in fields:
        if field.name not in found:
            names = [*reversed(former_names(field)), field.name]
            origin = next((name for name in names if name in left), None)
            if origin is not None:
                found[field.name] = left.pop(origin)
    return found


def _children(kind: pa.DataType, origin: Node | None, identities: Iterator[int]) -> tuple[Node, ...]:
    fields = inner_fields(kind)
    is_same = origin is not None and origin.kind.id == kind.id
    known = origin.children if origin is not None and is_same else ()
    if pa.types.is_struct(kind) or not known:
        return _stepped(fields, known, identities)
    # The one element of a list, and the two of a map, are what they are, whatever they are called.
    return tuple(
        Node(identity=old.identity, field=field, children=_children(field.type, old, identities))
        for field, old in zip(fields, known, strict=True)
    )


def inner_fields(kind: pa.DataType) -> list[pa.Field]:
    """The fields of a struct, the element of a list, key and value of a map; none of a flat type."""
    if pa.types.is_struct(kind):
        return list(kind.fields)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if pa.types.is_list(kind) else []
