from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime

import pytest
from tests.pipelines.chunks.plans import hint_of, knobs_of

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.pipelines.chunks.errors import UnsafeParallelism
from hakiri.pipelines.chunks.knobs import Knob, Knobs, Origin

# A manifest's text for every knob, and the value that it means.
NAMED = {
    "window": ("30d", Duration.parse("30d")),
    "parallelism": (4, 4),
    "rate_budget": ("60/min", Rate.parse("60/min")),
    "start_from": ("2010-01-01", datetime(2010, 1, 1, tzinfo=UTC)),
    "max_chunks_per_tick": (8, 8),
    "destination_writes_per_sec": (2.5, 2.5),
    "max_parallel_chunks": (16, 16),
}
HINT = hint_of(window="7d", rate="5000/h")
FROM_HINT = {"window": Duration.parse("7d"), "rate_budget": Rate.parse("5000/h")}


@pytest.mark.spec("HP-111")
@pytest.mark.spec("HP-112")
def test_what_nobody_names_comes_from_the_connector_or_is_not_limited() -> None:
    knobs = knobs_of(HINT)

    for name in NAMED:
        expected = Knob(value=FROM_HINT[name], origin=Origin.CONNECTOR) if name in FROM_HINT else Knob()
        assert getattr(knobs, name) == expected


@pytest.mark.spec("HP-112")
@pytest.mark.spec("HP-113")
@pytest.mark.parametrize("name", NAMED)
def test_the_manifest_overrides_the_one_knob_that_it_names(name: str) -> None:
    text, value = NAMED[name]

    knobs = knobs_of(HINT, **{name: text})

    assert getattr(knobs, name) == Knob(value=value, origin=Origin.MANIFEST)
    plain = knobs_of(HINT)
    others = [other for other in NAMED if other != name]
    assert [getattr(knobs, other) for other in others] == [getattr(plain, other) for other in others]


def test_every_knob_is_tried() -> None:
    assert {field.name for field in fields(Knobs)} == set(NAMED)


@pytest.mark.spec("HP-108")
@pytest.mark.parametrize(
    ("kind", "partitions", "parallelism"),
    [
        (CursorKind.MONOTONIC, 1, Knob()),
        (CursorKind.MONOTONIC, 5, Knob()),
        (CursorKind.OPAQUE_TOKEN, 5, Knob(value=1, origin=Origin.CONNECTOR)),
        (CursorKind.SNAPSHOT_ID, 1, Knob(value=1, origin=Origin.CONNECTOR)),
        (CursorKind.SNAPSHOT_ID, 3, Knob(value=3, origin=Origin.CONNECTOR)),
        (CursorKind.PARTITIONED_MONOTONIC, 3, Knob(value=3, origin=Origin.CONNECTOR)),
        (CursorKind.PARTITIONED_MONOTONIC, 0, Knob(value=1, origin=Origin.CONNECTOR)),
    ],
)
def test_as_many_chunks_at_once_as_the_kind_of_cursor_allows(
    kind: CursorKind, partitions: int, parallelism: Knob[int]
) -> None:
    assert knobs_of(hint_of(kind), partitions=partitions).parallelism == parallelism


@pytest.mark.spec("HP-108")
def test_several_chunks_at_once_of_a_source_of_tokens_are_refused() -> None:
    with pytest.raises(UnsafeParallelism) as refused:
        knobs_of(hint_of(CursorKind.OPAQUE_TOKEN), parallelism=2)

    assert refused.value.exit_code == 2
    assert str(refused.value) == (
        "table `orders` is read in the order of the source, one chunk after the other, "
        "and `backfill.parallelism` is 2"
    )
    assert refused.value.hint == (
        "take `parallelism` out, or set it to 1; a column that grows, named with `incremental`, lets several "
        "be read at once where the source can measure it"
    )


@pytest.mark.spec("HP-108")
def test_one_chunk_at_once_of_a_source_of_tokens_is_fine() -> None:
    knobs = knobs_of(hint_of(CursorKind.OPAQUE_TOKEN), parallelism=1)

    assert knobs.parallelism == Knob(value=1, origin=Origin.MANIFEST)
