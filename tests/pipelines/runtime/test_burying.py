"""What is written down of a run whose process is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pipelines.operations.scenes import NODE, Scene, window
from tests.support.past import pipeline
from tests.support.runtime import Lab

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.runs import ABANDONED
from hakiri.core.ids import ChunkId, PipelineId
from hakiri.pipelines.runtime.burying import bury

ORDERS = PipelineId("orders")


@pytest.mark.spec("HP-061")
def test_a_run_whose_process_is_gone_has_the_rows_that_it_committed(tmp_path: Path) -> None:
    lab = Lab(root=tmp_path, spark=None).write(pipeline())
    with lab.ground() as ground:
        scene = Scene(ground.catalog, ground.project)
        scene.at = ground.clock.now()
        scene.declared("orders", "orders", window(None, 100), window(100, 200), window(200, 300), window(300))
        run = scene.started("orders")
        scene.did("orders", run, rows=100)
        scene.did("orders", run, rows=23)
        scene.claimed("orders", run)
        # Somebody pulls one of them again before anybody sees that the process is gone.
        ground.catalog.chunks.supersede(ORDERS, [ChunkId(1)], "a test", scene.at)

        bury(ground.catalog, NODE, ground.clock.now())
        bury(ground.catalog, NODE, ground.clock.now())

        ended = ground.catalog.runs.get(run)
        assert ended is not None
        assert (ended.error_kind, ended.rows, ended.bytes) == (ABANDONED, 123, 123 * 1450)
        assert [chunk.status for chunk in scene.chunks("orders")][1:4] == [
            ChunkStatus.DONE, ChunkStatus.PENDING, ChunkStatus.PENDING,
        ]  # fmt: skip
