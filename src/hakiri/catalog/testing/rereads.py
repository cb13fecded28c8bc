"""Tests of `catalog.chunks`: chunks that read what was read before, and plans that are made together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkAttempt, NewChunk, Replacement, Reread
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import (
    ANNA,
    HOUR,
    MINUTE,
    PIPELINE,
    RUN,
    T0,
    TABLE,
    TTL,
    at_once,
    claimed,
    committed,
    done,
    new_chunks,
    planned,
    run_id,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId

WHY = Reread(reason="RT-481: «für immer»", asked_at=T0, runs=(run_id(1), run_id(2)))


def ids(*numbers: int) -> list[ChunkId]:
    return [ChunkId(number) for number in numbers]


def in_the_place_of(*old: int, by: tuple[int, int]) -> Replacement:
    first, last = ids(*by)
    return Replacement(first=first, last=last, old=tuple(ids(*old)))


def rereads(catalog: Catalog) -> list[Reread | None]:
    return [chunk.reread for chunk in catalog.chunks.page(PIPELINE)]


def done_by_two_runs(catalog: Catalog) -> None:
    """Chunks 1 to 4, of which run 2 read the first and run 1 two others."""
    planned(catalog, 4)
    for run in (run_id(2), run_id(1), run_id(1)):
        catalog.queue.commit(claimed(catalog, run=run), done(), T0)


def in_place_of(old: Chunk) -> list[int]:
    """The ids of the chunks that came in the place of one."""
    assert old.superseded_by is not None
    assert old.successors is not None
    return list(range(old.superseded_by - old.successors + 1, old.superseded_by + 1))


class RereadContract(Contract):
    """Whoever reads something again knows why, and who read it before."""

    @pytest.mark.spec("HP-145")
    def test_a_chunk_that_is_planned_anew_knows_the_reason_and_the_run_that_read_it(
        self, catalog: Catalog
    ) -> None:
        done_by_two_runs(catalog)

        catalog.chunks.supersede(PIPELINE, ids(2, 1), "RT-481", T0 + MINUTE)

        why = Reread(
            reason="RT-481",
            asked_at=T0 + MINUTE,
            runs=(run_id(2),),
            replacement=in_the_place_of(1, by=(5, 5)),
        )
        second = replace(why, runs=(run_id(1),), replacement=in_the_place_of(2, by=(6, 6)))
        assert rereads(catalog)[4:] == [why, second]
        assert rereads(catalog)[:4] == [None] * 4

    @pytest.mark.spec("HP-145")
    def test_chunks_in_the_place_of_others_know_all_runs_that_read_those(self, catalog: Catalog) -> None:
        done_by_two_runs(catalog)

        catalog.chunks.supersede(PIPELINE, ids(1, 2, 3, 4), "cut anew", T0, into=new_chunks(2))

        part, whole = in_the_place_of(by=(5, 6)), in_the_place_of(1, 2, 3, by=(5, 6))
        why = Reread(reason="cut anew", asked_at=T0, runs=(run_id(1), run_id(2)), replacement=part)
        assert rereads(catalog)[4:] == [why, replace(why, replacement=whole)]

    def test_every_attempt_at_it_knows_that_too(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        chunks = [NewChunk(table=TABLE, predicate="", reread=WHY), *new_chunks(1)]
        catalog.chunks.plan(PIPELINE, "again", chunks, T0)

        one = claimed(catalog)
        renewed = catalog.queue.renew(one, T0, HOUR)
        catalog.queue.give_back(renewed, T0)
        some = catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=2)
        attempts: list[ChunkAttempt] = [one, renewed, *some, *catalog.queue.renew_some(some, T0, HOUR)]

        assert [attempt.reread for attempt in attempts] == [WHY, WHY, WHY, None, WHY, None]
        assert rereads(catalog) == [WHY, None]

    def test_a_reason_that_cannot_be_stored_plans_nothing(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        committed(catalog)
        bad = NewChunk(table=TABLE, predicate="", reread=replace(WHY, reason="\0"))

        with pytest.raises(UnstorableText):
            catalog.chunks.plan(PIPELINE, "again", [bad], T0)
        with pytest.raises(UnstorableText):
            catalog.chunks.supersede(PIPELINE, ids(1), "\udcff", T0)

        assert not catalog.chunks.is_planned(PIPELINE, "again")
        assert rereads(catalog) == [None]

    def test_a_chunk_knows_which_others_came_in_its_place_and_those_have_ids_in_a_row(
        self, catalog: Catalog
    ) -> None:
        planned(catalog, 3)
        for _ in range(3):
            committed(catalog)
        copies = catalog.chunks.supersede(PIPELINE, ids(1, 2), "copied", T0)
        parts = catalog.chunks.supersede(PIPELINE, ids(3), "split", T0, into=new_chunks(3))

        landed = catalog.chunks.landed(TABLE)

        assert [in_place_of(old) for old in landed] == [[copies[0]], [copies[1]], [*parts]]

    @pytest.mark.spec("HP-142")
    def test_what_landed_tells_whether_all_in_the_place_of_a_chunk_are_done(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        committed(catalog)
        committed(catalog)
        catalog.chunks.supersede(PIPELINE, ids(1, 2), "cut anew", T0, into=new_chunks(2))
        seen = []

        for _ in range(3):
            landed = catalog.chunks.landed(TABLE)
            known = {int(chunk.chunk) for chunk in landed}
            seen.append((catalog.chunks.version(TABLE), known.issuperset(in_place_of(landed[0]))))
            if len(seen) < 3:
                committed(catalog)

        assert [is_whole for _, is_whole in seen] == [False, False, True]
        assert [version for version, _ in seen] == sorted({version for version, _ in seen})


class PlansTogetherContract(Contract):
    """Several plans in one step, with their chunks mixed."""

    @pytest.mark.spec("HP-110")
    def test_several_plans_are_made_in_one_step(self, catalog: Catalog) -> None:
        mixed = [NewChunk(table=TABLE, predicate=f"{plan}{number}") for number in (1, 2) for plan in "ab"]

        assert catalog.chunks.plan(PIPELINE, "a", iter(mixed), T0, also=["b"]) == 4

        assert [chunk.predicate for chunk in catalog.chunks.page(PIPELINE)] == ["a1", "b1", "a2", "b2"]
        assert [catalog.chunks.is_planned(PIPELINE, plan) for plan in "abc"] == [True, True, False]
        assert catalog.chunks.plan(PIPELINE, "b", new_chunks(1), T0) == 0

    @pytest.mark.parametrize(("plan", "also"), [("a", ["b"]), ("b", ["a"]), ("b", ["c", "a"])])
    def test_if_one_of_them_was_made_before_none_is_made(
        self, catalog: Catalog, plan: str, also: list[str]
    ) -> None:
        catalog.chunks.plan(PIPELINE, "a", new_chunks(1), T0)

        assert catalog.chunks.plan(PIPELINE, plan, new_chunks(3), T0, also=also) == 0

        assert len(catalog.chunks.page(PIPELINE)) == 1
        assert not catalog.chunks.is_planned(PIPELINE, "b")

    def test_if_a_chunk_cannot_be_stored_none_is_made(self, catalog: Catalog) -> None:
        chunks = [*new_chunks(1), NewChunk(table=TABLE, predicate="\0")]

        with pytest.raises(UnstorableText):
            catalog.chunks.plan(PIPELINE, "a", chunks, T0, also=["b"])

        assert catalog.chunks.page(PIPELINE) == ()
        assert not any(catalog.chunks.is_planned(PIPELINE, plan) for plan in "ab")

    def test_of_many_who_make_them_at_once_one_does(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        added = at_once(
            lambda number: catalog.chunks.plan(
                PIPELINE, "ab"[number % 2], new_chunks(2), T0, also=["ba"[number % 2]]
            )
        )

        assert sorted(added) == [0] * (len(added) - 1) + [2]
        assert len(catalog.chunks.page(PIPELINE)) == 2
        assert catalog.check() == ()
