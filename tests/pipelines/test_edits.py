"""What was edited since the last apply, key by key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hakiri.catalog.contract.pipelines import AppliedSpec
from hakiri.core.ids import PipelineId
from hakiri.manifest import PipelineSpec
from hakiri.pipelines.applied import applied_text, spec_hash
from hakiri.pipelines.edits import Edit, edits_since

BASE: dict[str, Any] = {
    "id": "orders",
    "source": {"connector": "sql", "config": {"url": "sqlite:///shop.db"}},
    "tables": ["orders", {"name": "customers", "as": "people"}],
}


def spec(**changes: Any) -> PipelineSpec:
    return PipelineSpec.model_validate_json(json.dumps({**BASE, **changes}))


def applied(of: PipelineSpec, root: Path) -> AppliedSpec:
    return AppliedSpec(
        pipeline=PipelineId(of.id),
        spec_json=applied_text(of),
        spec_hash=spec_hash(of, root),
        applied_at=datetime(2026, 1, 1, tzinfo=UTC),
        retired_at=None,
    )


def test_what_was_applied_as_it_stands_has_no_edits(tmp_path: Path) -> None:
    assert edits_since(applied(spec(), tmp_path), spec(), tmp_path) == ()


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ({}, {"incremental": "id"}, Edit(key="incremental", before=None, after="id")),
        ({"incremental": "id"}, {}, Edit(key="incremental", before="id", after=None)),
        (
            {"backfill": {"window": "30d", "parallelism": 4}},
            {"backfill": {"window": "7d", "parallelism": 4}},
            Edit(key="backfill.window", before="30d", after="7d"),
        ),
        (
            {},
            {"source": {"connector": "sql", "config": {"url": "sqlite:///other.db"}}},
            Edit(key="source.config.url", before="sqlite:///shop.db", after="sqlite:///other.db"),
        ),
        (
            {},
            {"tables": [*BASE["tables"], "refunds"]},
            Edit(key="tables.refunds", before=None, after={"name": "refunds"}),
        ),
        (
            {},
            {"tables": [{"name": "orders", "lag": "2h"}, BASE["tables"][1]]},
            Edit(key="tables.orders.lag", before=None, after="2h"),
        ),
        (
            {},
            {"tables": BASE["tables"][::-1]},
            Edit(key="tables", before=["orders", "customers"], after=["customers", "orders"]),
        ),
    ],
)
@pytest.mark.spec("HP-042")
def test_an_edit_names_the_key_and_both_values(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], edit: Edit
) -> None:
    assert edits_since(applied(spec(**before), tmp_path), spec(**after), tmp_path) == (edit,)


def test_a_transform_that_was_compiled_anew_is_an_edit(tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    artifact = tmp_path / "pipelines" / "orders.transforms.json"
    artifact.write_text("{}")
    with_transform = spec(transforms=["orders"])
    before = applied(with_transform, tmp_path)
    assert edits_since(before, with_transform, tmp_path) == ()

    artifact.write_text('{"plan": {}}')

    (edit,) = edits_since(before, with_transform, tmp_path)
    assert (edit.key, edit.after) == ("transforms", "compiled anew")
