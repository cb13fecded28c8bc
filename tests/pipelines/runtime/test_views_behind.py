"""A view that cannot be written: what was committed is safe, and everybody is told that it is not seen."""

from __future__ import annotations

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import PipelineId
from hakiri.pipelines.errors import ViewsBehind
from hakiri.pipelines.events import RunEnded
from hakiri.pipelines.needs import Need
from hakiri.pipelines.operations.looking import standing_of

pytestmark = pytest.mark.spark
LATER = "2025-06-01T00:00:00+00:00"
BESIDE = manifest("monotonic", table='{ name = "items", as = "beside" }').replace('"p"', '"q"', 1)


@pytest.mark.spec("HP-061")
def test_a_run_whose_view_cannot_be_written_says_so_and_the_next_one_mends_it(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic") + BESIDE)
    lab.apply()
    (file,) = (lab.layout.root / "tables" / "counted_items").rglob("part-*.parquet")
    aside = file.rename(file.with_suffix(".aside"))
    source.put([(10, LATER, "part-1", "new")])

    behind, beside = lab.run("p"), lab.run("q")

    assert isinstance(behind.error, ViewsBehind)
    assert str(behind.error).startswith(
        "readers do not see what pipeline `p` has committed to table `counted_items`: the view of table "
        "`counted_items` cannot be made: "
    )
    assert behind.error.hint.startswith("put the file back; ")
    assert behind.error.hint.endswith(
        "; then run `hakiri apply p`, which writes the view and pulls nothing again"
    )
    assert behind.result is not None
    assert (behind.result.run.status, behind.result.run.rows) == (RunStatus.PARTIAL, 1)
    (told,) = [event for event in lab.told(RunEnded)[-2:] if event.pipeline == "p"]
    assert (told.status, told.error) == (RunStatus.PARTIAL, str(behind.error))
    assert (beside.error, lab.query("SELECT count(*) FROM beside")) == (None, [(4,)])

    with lab.ground() as ground:
        standing = standing_of(ground.catalog, ground.project.pipeline("p"), lab.root, ground.clock.now())
        assert (standing.light, standing.failure, standing.has_failed_openly) == ("partial", None, True)
        assert [way.command for way in standing.ways_on] == ["hakiri apply p"]

    aside.rename(file)
    source.forget_reads()
    mended = lab.applied("p")

    assert (mended.need, source.reads()) == (Need.UNFINISHED, [])
    assert lab.query("SELECT id FROM counted_items ORDER BY id") == [(1,), (2,), (3,), (10,)]
    with lab.catalog() as catalog:
        (latest,) = catalog.runs.latest(PipelineId("p"), limit=1)
        assert latest.status is RunStatus.SUCCESS


def test_a_view_that_the_disk_refuses_is_told_with_what_the_disk_says(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.layout.root.mkdir(parents=True)
    lab.layout.views.write_text("a file stands where the folder belongs")

    behind = lab.run("p")

    assert isinstance(behind.error, ViewsBehind)
    view = lab.layout.view_file("counted_items")
    assert str(behind.error) == (
        "readers do not see what pipeline `p` has committed to table `counted_items`: not a directory: "
        f"`{view}`"
    )
    assert behind.error.hint.startswith("look at the disk, ")

    lab.layout.views.unlink()
    lab.applied()

    assert lab.query("SELECT count(*) FROM counted_items") == [(3,)]
