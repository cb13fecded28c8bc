from __future__ import annotations

from typing import Any

import pytest
from tests.pipelines.chunks.plans import NOW, facts_of, hint_of, knobs_of

from hakiri.core.cursors import CursorKind
from hakiri.pipelines.chunks.cautions import Caution, CautionCode, warnings
from hakiri.pipelines.chunks.planning import TableFacts
from hakiri.sources.contract import Hint

REPOS = ({"repo": "a"}, {"repo": "b"}, {"repo": "c"})
TEN_YEARS = ("2016-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
OTHERWISE = "follow a column of times with `incremental`, or take it out"


def warned(facts: TableFacts, hint: Hint, **backfill: Any) -> list[Caution]:
    knobs = knobs_of(hint, partitions=len(facts.partitions), **backfill)
    return list(warnings(knobs, hint, facts, NOW))


def test_knobs_that_fit_need_no_word() -> None:
    facts = facts_of(*TEN_YEARS, rows=5_000_000)

    assert warned(facts, hint_of(window="30d", rate="60/min")) == []
    assert warned(facts, hint_of(rate="60/min"), parallelism=64, rate_budget="1/s", window="30d") == []


@pytest.mark.spec("HP-116")
def test_a_plan_warns_of_more_chunks_at_once_than_there_are_partitions() -> None:
    kind = CursorKind.PARTITIONED_MONOTONIC

    said = warned(facts_of(kind=kind, partitions=REPOS), hint_of(kind), parallelism=4)

    assert said == [
        Caution(
            CautionCode.PARALLELISM,
            "`parallelism` is 4, but table `orders` has 3 partitions: "
            "chunks of the same one will be read at the same time",
            "set `parallelism` to 3",
        )
    ]


@pytest.mark.spec("HP-116")
def test_a_plan_warns_of_more_chunks_at_once_than_there_are_streams() -> None:
    kind = CursorKind.SNAPSHOT_ID

    said = warned(facts_of(kind=kind, field=None), hint_of(kind), parallelism=2)

    assert said == [
        Caution(
            CautionCode.PARALLELISM,
            "`parallelism` is 2, but table `orders` has 1 stream, each read chunk after chunk: "
            "more has no effect",
            "set `parallelism` to 1",
        )
    ]


def test_a_plan_warns_of_more_chunks_at_once_than_a_worker_runs() -> None:
    said = warned(facts_of(1, 5), hint_of(), parallelism=9, max_parallel_chunks=4)

    assert said == [
        Caution(
            CautionCode.WORKER,
            "`parallelism` is 9, but `max_parallel_chunks` lets a worker run 4",
            "raise `max_parallel_chunks`, or set `parallelism` to 4",
        )
    ]


def test_a_plan_warns_of_more_calls_than_the_source_stands() -> None:
    said = warned(facts_of(1, 5), hint_of(rate="60/min"), rate_budget="2/s")

    assert said == [
        Caution(
            CautionCode.RATE,
            "`rate_budget` is 2/s, but the source stands 60/min, as its connector says",
            "set `rate_budget` to `60/min`, or take it out",
        )
    ]


def test_a_plan_warns_of_too_many_chunks_and_proposes_a_longer_window() -> None:
    said = warned(facts_of(*TEN_YEARS), hint_of(), window="2h")

    assert said == [
        Caution(CautionCode.MANY, "table `orders` is cut into 43,837 chunks", "set `window` to `9h`")
    ]


def test_a_plan_says_when_it_takes_longer_windows_than_asked_for() -> None:
    said = warned(facts_of(*TEN_YEARS), hint_of(), window="1m")

    assert said == [
        Caution(
            CautionCode.MANY,
            "table `orders` is cut into 99,253 chunks, because windows of 1m would be more than 100,000",
            "set `window` to `9h`",
        )
    ]


def test_a_plan_with_too_many_partitions_proposes_fewer() -> None:
    kind = CursorKind.PARTITIONED_MONOTONIC
    parts = [{"n": str(number)} for number in range(12_000)]

    said = warned(facts_of(kind=kind, partitions=parts), hint_of(kind))

    assert said == [
        Caution(
            CautionCode.MANY,
            "table `orders` is cut into 12,000 chunks",
            "pull fewer partitions in one pipeline",
        )
    ]


def test_a_plan_warns_of_chunks_that_are_too_small_and_proposes_a_longer_window() -> None:
    said = warned(facts_of(*TEN_YEARS, rows=400_000), hint_of(), window="1d")

    assert said == [
        Caution(
            CautionCode.SMALL,
            "table `orders` is cut into 3,654 chunks for about 400,000 rows",
            "set `window` to `914d`",
        )
    ]


def test_a_small_table_is_proposed_one_window() -> None:
    said = warned(facts_of(*TEN_YEARS, rows=50), hint_of(), window="P1M")

    assert [(caution.code, caution.hint) for caution in said] == [
        (CautionCode.SMALL, "set `window` to `3683d`")
    ]


def test_few_small_chunks_need_no_word() -> None:
    assert warned(facts_of(*TEN_YEARS, rows=50), hint_of(), window="P2Y") == []


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (facts_of(1, 5), "`f` holds numbers"),
        (facts_of("a", "b"), "the values of `f` are not all times of one form"),
        (facts_of(kind=CursorKind.OPAQUE_TOKEN), "it is not read by the values of a column"),
        (facts_of(field=None), "it is not read by the values of a column"),
    ],
)
def test_a_plan_says_which_knobs_have_no_effect(facts: TableFacts, why: str) -> None:
    said = warned(facts, hint_of(facts.kind), window="30d", start_from="2010-01-01")

    assert said == [
        Caution(CautionCode.NO_WINDOW, f"`window` has no effect on table `orders`: {why}", OTHERWISE),
        Caution(CautionCode.NO_START, f"`start_from` has no effect on table `orders`: {why}", OTHERWISE),
    ]


def test_a_plan_asks_for_a_start_where_the_source_tells_none() -> None:
    said = warned(facts_of(), hint_of(), window="30d")

    assert said == [
        Caution(
            CautionCode.NO_WINDOW,
            "`window` has no effect on table `orders`: the source does not tell where `f` begins",
            "set `start_from`",
        )
    ]
