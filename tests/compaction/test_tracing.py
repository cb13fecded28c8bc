"""A compaction as a span, and how far it is by its tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, T0
from tests.support.tracing import Told, counting_entropy

from hakiri.compaction.exchange import Piece
from hakiri.compaction.fold_tasks import SampleTask, ScatterTask, SettleTask, WriteTask
from hakiri.compaction.merge_tasks import MergeTask, RecentTask
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun
from hakiri.compaction.stages import Stage, stage_of
from hakiri.compaction.steps import Step
from hakiri.compaction.tasks import InputFile, Recipe, Task
from hakiri.core.clock import FixedClock
from hakiri.core.ids import RunId
from hakiri.telemetry import Telemetry, TraceSpan, open_telemetry, read_trace, trace_id_of, trace_path

RUN = RunId("0196be00-0000-7000-9000-000000000001")


def telemetry_to(folder: Path, clock: FixedClock) -> Telemetry:
    return open_telemetry(
        project="shop", traces=folder, otlp=None, clock=clock, tell=Told(), entropy=counting_entropy()
    )


def span_of(bench: Bench, folder: Path, *, fails_at: Step | None = None) -> TraceSpan:
    def reached(step: Step) -> None:
        if step is fails_at:
            raise OSError("the disk is full")

    with telemetry_to(folder, bench.clock) as telemetry:
        work = CompactionRun(
            compactor=bench.compactor(reached=reached),
            table=ORDERS,
            laid_out=TableLayout(),
            why="2 runs to fold",
            telemetry=telemetry,
        )
        if fails_at is None:
            work.work(RUN)
        else:
            with pytest.raises(OSError, match="full"):
                work.work(RUN)
    (span,) = read_trace(trace_path(folder, trace_id_of(RUN))).spans
    return span


@pytest.mark.spec("HC-056")
def test_a_compaction_is_a_span_that_tells_what_went_in_and_what_came_out(
    bench: Bench, tmp_path: Path
) -> None:
    bench.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    bench.land([{"id": 1, "name": "c"}], SCHEMA, "id")
    landed = sum(chunk.bytes or 0 for chunk in bench.workshop.chunks())

    span = span_of(bench, tmp_path / "traces")

    (made,) = bench.workshop.catalog.snapshots.all(ORDERS)
    (chunk,) = bench.workshop.catalog.chunks.page(bench.workshop.catalog.runs.latest()[0].pipeline)
    assert (span.name, span.error) == ("hakiri.compaction", None)
    assert span.attributes == {
        "hakiri.table": "orders",
        "hakiri.run_id": RUN,
        "hakiri.compaction.trigger": "2 runs to fold",
        "hakiri.compaction.snapshot": made.snapshot,
        "hakiri.compaction.runs": 2,
        "hakiri.compaction.input_bytes": landed,
        "hakiri.compaction.output_bytes": chunk.bytes,
        "hakiri.compaction.rows_read": 3,
        "hakiri.compaction.rows": 2,
        "hakiri.compaction.files": 1,
        "hakiri.compaction.files_kept": 0,
        "hakiri.compaction.sidecar_seconds": 0.0,
    }
    steps = [event.name for event in span.events]
    assert steps[0] == "files written"
    assert steps[-1] == "views written"
    run = bench.workshop.catalog.runs.get(RUN)
    assert run is not None
    assert run.trace == trace_id_of(RUN)


@pytest.mark.spec("HC-056")
def test_a_compaction_that_failed_says_so_in_its_span(bench: Bench, tmp_path: Path) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")

    span = span_of(bench, tmp_path / "traces", fails_at=Step.STAGED)

    assert span.error == "the disk is full"
    assert span.attributes["error.type"] == "OSError"


PIECE = Piece(path="a", range=0)


def recipe(*cluster_by: str) -> Recipe:
    return Recipe(table="orders", schemas={}, primary_key=("id",), cluster_by=cluster_by, label="label")


FILE = InputFile(path="a", schema_version=1, rows=1, bytes=1, sha256="")


@pytest.mark.parametrize(
    ("task", "start", "end"),
    [
        (SampleTask(recipe=recipe("name"), inputs=(), by={}, count=2), 0, 1 / 10),
        (ScatterTask(recipe=recipe("name"), inputs=(), bounds=b"x", folder=""), 0, 1 / 3),
        (ScatterTask(recipe=recipe("id"), inputs=(), bounds=b"x", folder=""), 0, 1 / 2),
        (SettleTask(recipe=recipe("name"), pieces=(), bounds=b"", folder=""), 1 / 3, 2 / 3),
        (WriteTask(recipe=recipe("name"), folder="", part=0, pieces=(PIECE,), is_settled=True), 2 / 3, 1),
        (WriteTask(recipe=recipe("id"), folder="", part=0, pieces=(PIECE,)), 1 / 2, 1),
        (WriteTask(recipe=recipe("id"), folder="", part=0, inputs=(FILE,)), 0, 1),
        (ScatterTask(recipe=recipe("id"), inputs=(), folder=""), 0, 2 / 10),
        (RecentTask(recipe=recipe("id"), pieces=(), base=(), folder=""), 2 / 10, 3 / 10),
        (MergeTask(recipe=recipe("id"), folder="", part=0, parts=1, most_rows=1), 3 / 10, 1),
    ],
)
def test_every_task_belongs_to_a_stage(task: Task, start: float, end: float) -> None:
    stage = stage_of(task)

    assert (stage.start, stage.end) == (start, end)


def test_how_far_it_is_counts_the_stages_before() -> None:
    second = Stage(words="x", start=0.25, end=0.5)

    assert [second.fraction(done, 10) for done in (0, 5, 10)] == [0.25, 0.375, 0.5]
    assert second.fraction(0, 0) == 0.25


def test_a_store_without_telemetry_is_compacted_as_well(bench: Bench) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    work = CompactionRun(compactor=bench.compactor(), table=ORDERS, laid_out=TableLayout())

    assert work.work(RUN) is not None
    run = bench.workshop.catalog.runs.get(RUN)
    assert run is not None
    assert (run.trace, run.started_at) == (None, T0)
