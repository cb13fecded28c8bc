"""What is to be done about a pipeline, at every stage of its life, and what an apply makes of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.pipelines.operations.scenes import NOW, T0, window
from tests.support.past import Past, Shop, pipeline

from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.clock import FixedClock
from hakiri.core.ids import PipelineId
from hakiri.manifest import UnknownPipeline
from hakiri.pipelines.choosing import Applied, chosen_specs, left_alone, needs_now, retire_the_gone
from hakiri.pipelines.errors import WaitsForDecision
from hakiri.pipelines.needs import Need, need_of

HOURLY = pipeline(more='incremental = "id"\nschedule = "every 1h"\n')
DAILY = pipeline(more='incremental = "id"\nschedule = "every 1d"\n')
ORDERS = PipelineId("orders")


def never_ran(past: Past) -> None:
    pass


def planned(past: Past) -> None:
    past.began("orders", window(None, 500), window(500))


def half_done(past: Past) -> None:
    planned(past)
    past.did("orders", past.started("orders"))


def done(past: Past) -> None:
    past.began("orders", window())
    past.finished("orders", rows=1000, cursor={"id": 1000})


def failed(past: Past) -> None:
    planned(past)
    run = past.started("orders")
    past.chunk_failed("orders", run, "sources.permanent", "the source is gone")
    past.failed("orders", run, "sources.permanent", "the source is gone")


def retried(past: Past) -> None:
    failed(past)
    past.catalog.pipelines.decide(ORDERS, Decision.RETRY, "operator:ada", past.at)


def unseen(past: Past) -> None:
    done(past)
    run = past.started("orders")
    past.passed(5)
    past.ended("orders", run, RunStatus.PARTIAL, kind="pipelines.views_behind", message="a file is gone")


def retired(past: Past) -> None:
    done(past)
    past.catalog.pipelines.retire(ORDERS, past.at)


def killed_while_streaming(past: Past) -> None:
    done(past)
    past.started("orders")


def outlived(past: Past) -> None:
    """A machine that nobody sees died, and another run came to its end since."""
    killed_while_streaming(past)
    past.passed(60)
    past.ended("orders", past.started("orders"))


def committed_late(past: Past) -> None:
    """The run that nobody sees lived on, and committed after the other had written the views."""
    done(past)
    past.catalog.chunks.supersede(
        ORDERS, [chunk.chunk for chunk in past.chunks("orders")], "vendor's correction", past.at
    )
    unseen = past.started("orders")
    past.passed(60)
    past.ended("orders", past.started("orders"))
    past.passed(60)
    past.did("orders", unseen)


def dated_ahead(past: Past) -> None:
    """A run of a machine whose clock is years ahead, after one that was not."""
    done(past)
    past.passed(10 * 365 * 24 * 3600)
    past.ended("orders", past.started("orders"))


def rewound(past: Past) -> None:
    done(past)
    past.catalog.chunks.supersede(
        ORDERS, [chunk.chunk for chunk in past.chunks("orders")], "vendor's correction", past.at
    )


@pytest.mark.parametrize(
    ("happened", "text", "need"),
    [
        (never_ran, HOURLY, Need.NEW),
        (planned, HOURLY, Need.UNFINISHED),
        (half_done, HOURLY, Need.UNFINISHED),
        (killed_while_streaming, DAILY, Need.UNFINISHED),
        (outlived, DAILY, Need.NOTHING),
        (committed_late, DAILY, Need.UNFINISHED),
        (dated_ahead, HOURLY, Need.DUE),
        (dated_ahead, DAILY, Need.NOTHING),
        (rewound, DAILY, Need.UNFINISHED),
        (done, HOURLY, Need.DUE),
        (done, DAILY, Need.NOTHING),
        (done, pipeline(), Need.NOTHING),
        (unseen, DAILY, Need.UNFINISHED),
        (retired, DAILY, Need.CHANGED),
        (failed, HOURLY, Need.WAITS),
        (retried, HOURLY, Need.UNFINISHED),
    ],
)
@pytest.mark.spec("HP-038")
@pytest.mark.spec("HP-039")
@pytest.mark.spec("HP-048")
def test_the_past_of_a_pipeline_tells_what_it_needs(
    tmp_path: Path, happened: Callable[[Past], None], text: str, need: Need
) -> None:
    shop = Shop.make(tmp_path, text)
    with shop.past(T0) as past:
        happened(past)

        assert need_of(past.catalog, past.project.pipeline("orders"), tmp_path, NOW) is need


@pytest.mark.parametrize(
    ("happened", "text", "need"),
    [
        (done, DAILY, Need.CHANGED),
        (done, HOURLY, Need.CHANGED_AND_DUE),
        (retired, HOURLY, Need.CHANGED_AND_DUE),
        (failed, DAILY, Need.UNFINISHED),
    ],
)
def test_an_edit_of_the_manifest_is_something_to_do_and_a_decision(
    tmp_path: Path, happened: Callable[[Past], None], text: str, need: Need
) -> None:
    shop = Shop.make(tmp_path, text)
    with shop.past(T0) as past:
        happened(past)
        shop.write(text + "retries = 7\n")

        assert need_of(past.catalog, shop.project.pipeline("orders"), tmp_path, NOW) is need


@pytest.mark.spec("HP-039")
def test_only_those_whose_schedule_has_come_are_run_again(tmp_path: Path) -> None:
    shop = Shop.make(
        tmp_path,
        HOURLY
        + DAILY.replace('"orders"', '"daily"', 1).replace(
            '["orders"]', '[{ name = "orders", as = "daily" }]'
        ),
    )
    with shop.past(T0) as past:
        for name in ("orders", "daily"):
            past.began(name, window())
            past.finished(name, rows=1000, cursor={"id": 1000})
        project = shop.project

        def needs(hours: float) -> dict[str, Need]:
            clock = FixedClock(T0 + timedelta(hours=hours))
            return needs_now(project, past.catalog, only=None, env={}, clock=clock)

        assert needs(0.5) == {"daily": Need.NOTHING, "orders": Need.NOTHING}
        assert needs(2) == {"daily": Need.NOTHING, "orders": Need.DUE}
        assert needs(25) == {"daily": Need.DUE, "orders": Need.DUE}


def test_without_a_schedule_the_source_is_asked_for_news(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        done(past)

        def need() -> dict[str, Need]:
            return needs_now(shop.project, past.catalog, only="orders", env={}, clock=FixedClock(NOW))

        assert need() == {"orders": Need.NOTHING}
        shop.put(1, first=1001)
        assert need() == {"orders": Need.NEWS}


def test_an_edit_does_not_hide_the_news_of_a_source(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        done(past)
    shop.write(pipeline(more='incremental = "id"\nretries = 2\n'))
    with shop.past(NOW) as past:

        def need() -> dict[str, Need]:
            return needs_now(shop.project, past.catalog, only=None, env={}, clock=FixedClock(NOW))

        assert need() == {"orders": Need.CHANGED}
        shop.put(1, first=1001)
        assert need() == {"orders": Need.NEWS}


def test_a_pipeline_whose_source_is_out_of_reach_does_not_pass_for_up_to_date(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        done(past)
        (tmp_path / "shop.db").unlink()

        needs = needs_now(shop.project, past.catalog, only=None, env={}, clock=FixedClock(NOW))

    assert needs == {"orders": Need.NEWS}


def test_an_edit_does_not_take_the_place_of_a_tick_that_has_come() -> None:
    ticks = {need for need in Need if need.is_tick}

    assert ticks == {Need.CHANGED_AND_DUE, Need.DUE, Need.NEWS, Need.ASKED}


@pytest.mark.parametrize("need", list(Need))
def test_only_what_waits_or_is_up_to_date_is_no_work(need: Need) -> None:
    assert need.is_work is (need not in (Need.WAITS, Need.NOTHING))


def test_what_is_left_alone_says_what_it_waits_for(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        failed(past)
        spec = past.project.pipeline("orders")

        waits = left_alone(past.catalog, spec, Need.WAITS)
        idle = left_alone(past.catalog, spec, Need.NOTHING)

    assert isinstance(waits.error, WaitsForDecision)
    assert str(waits.error) == "pipeline `orders` failed and waits for a decision: the source is gone"
    assert idle == Applied(pipeline="orders", need=Need.NOTHING)


def test_columns_that_were_refused_wait_for_another_decision_than_rows_that_failed() -> None:
    hint = WaitsForDecision("shop", "pipelines.schema_incompatible", "column `a` changed").hint

    assert hint == (
        "`hakiri schema accept --pipeline shop` lets it through, `hakiri schema migrate` is for another key; "
        "or mend it, and `hakiri retry shop`"
    )


def test_what_left_the_manifest_is_noted_once_and_its_history_stays(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        done(past)
        shop.write("")

        retire_the_gone(shop.project, past.catalog, NOW)
        retire_the_gone(shop.project, past.catalog, NOW + timedelta(days=1))

        noted = past.catalog.pipelines.applied(ORDERS)
        assert noted is not None
        assert noted.retired_at == NOW
        assert len(past.chunks("orders")) == 1


def test_an_unknown_pipeline_is_told_with_the_nearest(tmp_path: Path) -> None:
    project = Shop.make(tmp_path).project

    with pytest.raises(UnknownPipeline, match="no pipeline has the id `ordres`"):
        chosen_specs(project, "ordres")

    assert [spec.id for spec in chosen_specs(project, None)] == ["orders"]
