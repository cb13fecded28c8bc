"""How the columns of a table change over time: what is allowed, what is refused, and what people decided.

Decisions are made on values alone; `proof` looks at the footers of files, `recording` and `log` at the
catalog. The names are loaded when they are first used, since they bring Arrow with them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.pipelines.evolution.changes import Change, ChangeKind, ContractMode, kinds_text
    from hakiri.pipelines.evolution.decide import Evolution, accept, accepted, evolve
    from hakiri.pipelines.evolution.errors import (
        KeyImpossible,
        NoSchemaYet,
        SchemaIncompatible,
        SchemasDiverged,
    )
    from hakiri.pipelines.evolution.forms import stored_type, type_text
    from hakiri.pipelines.evolution.history import changes_between
    from hakiri.pipelines.evolution.incoming import incoming_shape
    from hakiri.pipelines.evolution.keys import migrated_key
    from hakiri.pipelines.evolution.proof import exact_columns
    from hakiri.pipelines.evolution.reconcile import Conflict, Divergence, Side, reconciled
    from hakiri.pipelines.evolution.recording import shape_of, step_to
    from hakiri.pipelines.evolution.shapes import TableShape
    from hakiri.pipelines.evolution.types import common_type, is_widening

_HOMES = {
    "Change": "changes",
    "ChangeKind": "changes",
    "Conflict": "reconcile",
    "ContractMode": "changes",
    "Divergence": "reconcile",
    "Evolution": "decide",
    "KeyImpossible": "errors",
    "NoSchemaYet": "errors",
    "SchemaIncompatible": "errors",
    "SchemasDiverged": "errors",
    "Side": "reconcile",
    "TableShape": "shapes",
    "accept": "decide",
    "accepted": "decide",
    "changes_between": "history",
    "common_type": "types",
    "evolve": "decide",
    "exact_columns": "proof",
    "incoming_shape": "incoming",
    "is_widening": "types",
    "kinds_text": "changes",
    "migrated_key": "keys",
    "reconciled": "reconcile",
    "shape_of": "recording",
    "step_to": "recording",
    "stored_type": "forms",
    "type_text": "forms",
}

__all__ = [
    "Change",
    "ChangeKind",
    "Conflict",
    "ContractMode",
    "Divergence",
    "Evolution",
    "KeyImpossible",
    "NoSchemaYet",
    "SchemaIncompatible",
    "SchemasDiverged",
    "Side",
    "TableShape",
    "accept",
    "accepted",
    "changes_between",
    "common_type",
    "evolve",
    "exact_columns",
    "incoming_shape",
    "is_widening",
    "kinds_text",
    "migrated_key",
    "reconciled",
    "shape_of",
    "step_to",
    "stored_type",
    "type_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
