"""Which chunks a reader sees: the rule by examples, and against a slow but obvious model of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.test_manifests import MANIFEST
from tests.store.workshop import ORDERS, PIPELINE, Workshop

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId, RunId
from hakiri.store.errors import UnreadableManifest
from hakiri.store.visible import Landed, LandedFile, landed_from, replaced, visible

OTHER = PipelineId("other")
RUN = RunId("run-1")


def landed(chunk: int, **said: object) -> Landed:
    values = {
        "pipeline": PIPELINE,
        "run": RUN,
        "superseded_by": None,
        "successors": 1,
        "seq": chunk,
        "schema_version": 1,
        "files": (LandedFile(f"{chunk}.parquet", 1, 1, ""),),
        "quarantine": (),
    }
    return Landed(chunk=ChunkId(chunk), **values | said)  # type: ignore[arg-type]


def seen(*chunks: Landed, has_key: bool = False, withdrawn: Sequence[Landed] = ()) -> list[int]:
    return [int(one.chunk) for one in visible(chunks, has_key=has_key, withdrawn=withdrawn)]


def test_with_a_key_all_that_ever_landed_is_read_in_the_order_of_the_claims() -> None:
    chunks = [landed(1, seq=9, superseded_by=3), landed(2, seq=4, pass_number=1), landed(3, seq=7)]

    assert seen(*chunks, has_key=True) == [2, 3, 1]


def test_without_a_key_a_chunk_is_seen_until_one_in_its_place_landed() -> None:
    old, new = landed(1, superseded_by=2), landed(2)

    assert seen(old) == [1]
    assert seen(old, new) == [2]


def test_the_newest_that_landed_of_a_chunk_planned_anew_again_and_again_is_seen() -> None:
    chunks = [landed(1, superseded_by=2), landed(2, superseded_by=3)]

    assert seen(*chunks) == [2]
    assert seen(*chunks, landed(3)) == [3]


@pytest.mark.spec("HP-142")
def test_without_a_key_chunks_are_seen_until_all_in_their_place_landed() -> None:
    old = [landed(1, superseded_by=5, successors=3), landed(2, superseded_by=5, successors=3)]
    new = [landed(3), landed(4), landed(5)]

    for some in ([], new[:1], new[1:], new[::2]):
        assert seen(*old, *some) == [1, 2]
    assert seen(*old, *new) == [3, 4, 5]


@pytest.mark.spec("HP-142")
def test_the_newest_generation_that_is_whole_is_seen() -> None:
    first = landed(1, superseded_by=3, successors=2)
    second = [landed(2, superseded_by=5, successors=2), landed(3, superseded_by=5, successors=2)]

    assert seen(first, *second) == [2, 3]
    assert seen(first, *second, landed(5)) == [2, 3]
    assert seen(first, *second, landed(4), landed(5)) == [4, 5]


def test_what_takes_the_place_of_a_part_waits_with_the_other_parts() -> None:
    first, part = landed(1, superseded_by=3, successors=2), landed(2, superseded_by=4)

    assert seen(first, part) == [1]
    assert seen(first, part, landed(4)) == [1]
    assert seen(first, part, landed(3)) == [2, 3]
    assert seen(first, part, landed(3), landed(4)) == [3, 4]


def test_a_pass_is_seen_until_all_that_was_planned_in_its_place_landed() -> None:
    old = [landed(n, pass_number=1, pass_size=2, superseded_by=4, successors=2) for n in (1, 2)]
    new = [landed(n, pass_number=2, pass_size=2) for n in (3, 4)]

    assert seen(*old, new[0]) == seen(*old, new[1]) == [1, 2]
    assert seen(*old, *new) == [3, 4]


def test_a_pass_in_place_of_one_that_never_came_to_its_end_is_seen() -> None:
    first = [landed(n, pass_number=1, pass_size=2, superseded_by=4, successors=2) for n in (1, 2)]
    skipped_half = landed(3, pass_number=2, pass_size=2, superseded_by=6, successors=2)
    third = [landed(n, pass_number=3, pass_size=2) for n in (5, 6)]

    assert seen(*first, skipped_half, third[0]) == [1, 2]
    assert seen(*first, skipped_half, *third) == [5, 6]


def test_chunks_of_other_pipelines_have_numbers_of_their_own() -> None:
    assert seen(landed(1, superseded_by=2), landed(2, pipeline=OTHER)) == [1, 2]


def test_a_reading_that_found_nothing_new_leaves_what_is_there() -> None:
    assert seen(landed(1), landed(2, unchanged=True)) == [1]
    assert seen(landed(1, pass_number=1, ends_pass=True), landed(2, pass_number=2, unchanged=True)) == [1]


def test_only_the_newest_complete_pass_is_seen() -> None:
    first = [landed(1, pass_number=1, pass_size=2), landed(2, pass_number=1, pass_size=2)]
    second = [landed(3, pass_number=2, pass_size=2), landed(4, pass_number=2, pass_size=2)]

    assert seen(*first, second[0]) == [1, 2]
    assert seen(*first, *second) == [3, 4]


def test_a_pass_of_unknown_size_is_complete_with_its_last_chunk() -> None:
    first = [landed(1, pass_number=1), landed(2, pass_number=1, ends_pass=True)]

    assert seen(*first, landed(3, pass_number=2)) == [1, 2]
    assert seen(*first, landed(3, pass_number=2), landed(4, pass_number=2, ends_pass=True)) == [3, 4]


def test_the_first_pass_is_seen_while_it_grows() -> None:
    assert seen(landed(1, pass_number=1, pass_size=3), landed(2, pass_number=1, pass_size=3)) == [1, 2]


def test_passes_of_two_pipelines_do_not_hide_each_other() -> None:
    mine, theirs = landed(1, pass_number=1, ends_pass=True), landed(2, pass_number=9, ends_pass=True)

    assert seen(mine, replace(theirs, pipeline=OTHER)) == [1, 2]


def test_partitions_whose_passes_have_no_known_size_do_not_hide_each_other() -> None:
    east = [landed(number, pass_number=number, ends_pass=True, stream="east") for number in (1, 3)]
    west = landed(2, pass_number=2, ends_pass=True, stream="west")

    assert seen(*east, west) == [2, 3]


@pytest.mark.parametrize(("size", "stream"), [(None, '{"repo":"a"}'), (2, "")])
def test_a_pass_over_all_partitions_is_one(workshop: Workshop, size: int | None, stream: str) -> None:
    manifest = replace(MANIFEST, predicate={"partition": {"repo": "a"}}, pass_size=size)
    workshop.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, MANIFEST.ingested_at)
    workshop.catalog.chunks.plan(
        PIPELINE, "first", [NewChunk(table=ORDERS, predicate="{}")], MANIFEST.ingested_at
    )
    workshop.commit(workshop.claim(), manifest, None)

    assert landed_from(workshop.chunks()[0]).stream == stream


def test_what_is_read_outside_of_passes_is_seen_beside_them() -> None:
    assert seen(landed(1), landed(2, pass_number=1, ends_pass=True), landed(3)) == [1, 2, 3]


def test_what_a_withdrawn_chunk_had_replaced_is_seen_until_all_in_its_own_place_landed() -> None:
    old, lost = landed(1, superseded_by=2), landed(2, superseded_by=4, successors=2)

    assert seen(old, withdrawn=[lost]) == [1]
    assert seen(old, landed(3), withdrawn=[lost]) == [1]
    assert seen(old, landed(3), landed(4), withdrawn=[lost]) == [3, 4]


def test_a_part_that_waits_for_a_withdrawn_one_is_seen_with_what_comes_in_its_place() -> None:
    old, part = landed(1, superseded_by=3, successors=2), landed(2, superseded_by=4)
    lost = landed(3, superseded_by=5)

    assert seen(old, part, withdrawn=[lost]) == [1]
    assert seen(old, part, landed(5), withdrawn=[lost]) == [2, 5]
    assert seen(old, part, landed(4), withdrawn=[lost]) == [1]
    assert seen(old, part, landed(4), landed(5), withdrawn=[lost]) == [4, 5]


def test_what_takes_the_place_of_withdrawn_and_other_parts_at_once_takes_that_of_all() -> None:
    old, part = landed(1, superseded_by=3, successors=2), landed(2, superseded_by=4)
    lost, again = landed(3, superseded_by=5), landed(4, superseded_by=5)

    assert seen(old, part, again, withdrawn=[lost]) == [1]
    assert seen(old, part, again, landed(5), withdrawn=[lost]) == [5]


def test_what_is_new_in_the_place_of_a_withdrawn_chunk_alone_is_seen_when_it_is_whole() -> None:
    lost = landed(1, superseded_by=3, successors=2)

    assert seen(withdrawn=[lost]) == []
    assert seen(landed(2), withdrawn=[lost]) == []
    assert seen(landed(2), landed(3), withdrawn=[lost]) == [2, 3]


def test_withdrawn_passes_count_for_nothing() -> None:
    first = landed(1, pass_number=1, pass_size=1)

    assert seen(first, withdrawn=[landed(2, pass_number=2, pass_size=1)]) == [1]


@st.composite
def histories(draw: st.DrawFn) -> list[Landed]:
    """Chunks of one pipeline, of which some were planned in the place of others, and some are not done."""
    current: list[int] = []
    found: dict[int, Landed] = {}
    for _ in range(draw(st.integers(1, 6))):
        number = draw(st.none() | st.integers(1, 3))
        size = draw(st.integers(1, 3))
        new = range(len(found) + 1, len(found) + 1 + size)
        if number is None and current:
            for old in draw(st.sets(st.sampled_from(current))):
                found[old] = replace(found[old], superseded_by=ChunkId(new[-1]), successors=size)
                current.remove(old)
        for chunk in new:
            found[chunk] = landed(
                chunk,
                pass_number=number,
                pass_size=None if number is None else draw(st.none() | st.integers(1, 3)),
                ends_pass=number is not None and draw(st.booleans()),
                unchanged=number is not None and draw(st.booleans()) and draw(st.booleans()),
            )
        if number is None:
            current += new
    done = draw(st.sets(st.sampled_from(sorted(found))))
    # Only what is done is ever planned anew.
    return draw(
        st.permutations([one for one in found.values() if one.chunk in done or one.superseded_by is not None])
    )


def model(chunks: list[Landed]) -> set[int]:
    """The rule of tables without a key, word by word: each replacement in its turn, if it is whole."""
    there = {int(one.chunk): one for one in chunks if one.pass_number is None}
    replacements: dict[tuple[int, ...], set[int]] = {}
    for one in there.values():
        if one.superseded_by is not None:
            new = tuple(range(one.superseded_by - one.successors + 1, one.superseded_by + 1))
            replacements.setdefault(new, set()).add(int(one.chunk))
    shown = set(there) - {chunk for new in replacements for chunk in new}
    for new, old in sorted(replacements.items()):
        if set(new) <= set(there) and old <= shown:
            shown = shown - old | set(new)
    brought = [one for one in chunks if one.pass_number is not None and not one.unchanged]
    of_pass = {n: [one for one in brought if one.pass_number == n] for n in (1, 2, 3)}
    begun = [n for n, members in of_pass.items() if members]
    complete = [
        n
        for n in begun
        if any(one.ends_pass for one in of_pass[n])
        or any(one.pass_size == len(of_pass[n]) for one in of_pass[n])
    ]
    newest = max(complete) if complete else max(begun, default=None)
    return shown | {int(one.chunk) for one in brought if one.pass_number == newest}


@given(chunks=histories())
def test_the_rule_holds_for_every_history(chunks: list[Landed]) -> None:
    assert set(seen(*chunks)) == model(chunks)


@given(chunks=histories(), data=st.data())
def test_withdrawing_all_that_landed_later_shows_what_was_seen_before(
    chunks: list[Landed], data: st.DataObject
) -> None:
    """Whichever landed first: only what is done is ever planned anew, so the old ones before the new."""
    links = {one.chunk: _places(one) for one in chunks}
    later = data.draw(st.sets(st.sampled_from([one.chunk for one in chunks])) if chunks else st.just(set()))
    later = later.union(*(_all_after(chunk, links) for chunk in later))
    first = [one for one in chunks if one.chunk not in later]

    assert seen(*first, withdrawn=[one for one in chunks if one.chunk in later]) == seen(*first)


@given(chunks=histories(), data=st.data())
def test_nothing_is_seen_beside_what_it_took_the_place_of_and_nothing_replaced_is_seen(
    chunks: list[Landed], data: st.DataObject
) -> None:
    outside = [one for one in chunks if one.pass_number is None]
    lost = data.draw(st.sets(st.sampled_from(outside or [landed(1)]).map(lambda one: one.chunk)))
    counting = [one for one in outside if one.chunk not in lost]
    withdrawn = [one for one in outside if one.chunk in lost]
    shown = {ChunkId(chunk) for chunk in seen(*counting, withdrawn=withdrawn)}

    links = {one.chunk: _places(one) for one in outside}
    for chunk in shown:
        assert not shown & _all_after(chunk, links)
    assert not shown & {one.chunk for one in replaced(counting, withdrawn)}


def _places(one: Landed) -> set[ChunkId]:
    if one.superseded_by is None:
        return set()
    return {ChunkId(n) for n in range(one.superseded_by - one.successors + 1, one.superseded_by + 1)}


def _all_after(chunk: ChunkId, links: dict[ChunkId, set[ChunkId]]) -> set[ChunkId]:
    after = links.get(chunk, set())
    return after.union(*(_all_after(each, links) for each in after))


@given(chunks=histories())
def test_with_a_key_only_what_brought_nothing_is_left_out(chunks: list[Landed]) -> None:
    assert set(seen(*chunks, has_key=True)) == {int(one.chunk) for one in chunks if not one.unchanged}


@given(chunks=histories(), data=st.data(), has_key=st.booleans())
def test_the_order_in_which_chunks_are_listed_changes_nothing(
    chunks: list[Landed], data: st.DataObject, has_key: bool
) -> None:
    again = data.draw(st.permutations(chunks))

    assert visible(chunks, has_key=has_key) == visible(again, has_key=has_key)


def test_a_row_of_the_catalog_is_read_with_its_manifest(workshop: Workshop) -> None:
    workshop.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, MANIFEST.ingested_at)
    workshop.catalog.chunks.plan(
        PIPELINE, "first", [NewChunk(table=ORDERS, predicate="{}")], MANIFEST.ingested_at
    )
    attempt = workshop.claim()
    workshop.commit(attempt, MANIFEST, None)
    (row,) = workshop.chunks()

    one = landed_from(row)

    place = "tables/orders/data/runs/0196be00-1/node-anna/chunk-47/attempt-2"
    assert one == landed(
        attempt.chunk,
        seq=1001,
        schema_version=3,
        run=MANIFEST.run,
        files=tuple(
            LandedFile(f"{place}/{file.name}", file.rows, file.bytes, file.sha256) for file in MANIFEST.files
        ),
        quarantine=(f"{place}/quarantine-00000.parquet",),
        pass_number=5,
        pass_size=2,
        ends_pass=True,
        landed_at=row.completed_at,
        primary_key=MANIFEST.primary_key,
    )
    with pytest.raises(UnreadableManifest, match="landed without one"):
        landed_from(replace(row, manifest=None))
