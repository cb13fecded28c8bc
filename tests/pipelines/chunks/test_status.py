from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.grammar import Rate
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.progress import DoneWork
from hakiri.pipelines.chunks.status import status_of

STARTED = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)
PIPELINE = PipelineId("github-issues-historical")
PRINTED = """{
"pipeline_id": "github-issues-historical",
"phase": "backfilling",
"chunks": { "done": 47, "running": 4, "pending": 261, "total": 312 },
"throughput": { "rows_per_sec": 850, "bytes_per_sec": 1240000 },
"eta_seconds": 3690,
"started_at": "2026-05-12T08:14:00Z",
"rate_budget": "60/min",
"rate_budget_consumed_pct": 87
}"""


@pytest.mark.spec("HP-141")
def test_a_status_is_told_as_the_document_prints_it() -> None:
    seconds = 3690 / 265 * 47
    brought = DoneWork(
        rows=round(850 * seconds / 47),
        bytes=round(1_240_000 * seconds / 47),
        started_at=STARTED,
        completed_at=STARTED + timedelta(seconds=3690 / 265),
    )

    status = status_of(
        PIPELINE,
        Phase.BACKFILLING,
        ChunkTally(done=47, running=4, pending=261),
        recent=[brought],
        started_at=STARTED,
        rate_budget=Rate.parse("60/min"),
        calls_in_period=52,
    ).as_dict()

    printed = json.loads(PRINTED)
    assert status["throughput"]["rows_per_sec"] == pytest.approx(850, abs=1)
    assert status["throughput"]["bytes_per_sec"] == pytest.approx(1_240_000, abs=1)
    assert status["eta_seconds"] == pytest.approx(3690, abs=1)
    measured = {"throughput": printed["throughput"], "eta_seconds": printed["eta_seconds"]}
    assert {**status, **measured} == printed
    assert list(status) == list(printed)
    assert list(status["chunks"]) == list(printed["chunks"])


def test_what_nobody_knows_is_null() -> None:
    status = status_of(PIPELINE, Phase.PLANNING, ChunkTally())

    assert status.as_dict() == {
        "pipeline_id": "github-issues-historical",
        "phase": "planning",
        "chunks": {"done": 0, "running": 0, "pending": 0, "total": 0},
        "throughput": {"rows_per_sec": 0, "bytes_per_sec": 0},
        "eta_seconds": 0,
        "started_at": None,
        "rate_budget": None,
        "rate_budget_consumed_pct": None,
    }


@pytest.mark.spec("HP-141")
def test_chunks_that_failed_are_told_and_counts_add_up_to_the_total() -> None:
    tally = ChunkTally(done=5, running=1, pending=2, failed=3, skipped=4, superseded=6)

    chunks = status_of(PIPELINE, Phase.BACKFILLING, tally).as_dict()["chunks"]

    assert chunks == {"done": 5, "running": 1, "pending": 2, "failed": 3, "total": 11}


@pytest.mark.parametrize(("calls", "consumed"), [(0, 0), (1, 2), (30, 50), (60, 100), (61, 100)])
def test_a_budget_is_told_in_whole_percent_and_never_more_than_used_up(calls: int, consumed: int) -> None:
    status = status_of(
        PIPELINE, Phase.STREAMING, ChunkTally(), rate_budget=Rate.parse("60/min"), calls_in_period=calls
    )

    assert status.rate_budget_consumed_pct == consumed
