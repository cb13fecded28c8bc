"""Making it so: which pipelines have something to do, and running them side by side."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.keeper import LeaseKeeper
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import PipelineId, TableName
from hakiri.manifest import PipelineSpec
from hakiri.pipelines.choosing import Applied, chosen_specs, left_alone, needs_now, retire_the_gone
from hakiri.pipelines.errors import LeaseHeldElsewhere
from hakiri.pipelines.events import Published
from hakiri.pipelines.needs import Need, need_of
from hakiri.pipelines.runtime.allowance import Allowance
from hakiri.pipelines.runtime.burying import bury_the_dead
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.publishing import Publishing
from hakiri.pipelines.runtime.runs import PipelineRun
from hakiri.pipelines.runtime.shop import Shop, phase_of
from hakiri.pipelines.runtime.slots import Slots
from hakiri.pipelines.runtime.steps import Step
from hakiri.store.nodes import known_node
from hakiri.store.publishing import Publisher

# How many pipelines one process has under way; their chunks share its slots.
PIPELINES_AT_ONCE = 4


def apply_project(
    ground: Ground, *, only: str | None = None, needs: Mapping[str, Need] | None = None
) -> list[Applied]:
    """Bring every pipeline, or one, to what the manifest says; those that are up to date are left alone.

    `needs` is what is to be done about each, if somebody has found out already.
    """
    project, catalog = ground.project, ground.catalog
    specs = chosen_specs(project, only)
    if needs is None:
        needs = needs_now(project, catalog, only=only, env=ground.env, clock=ground.clock)
    if only is None:
        retire_the_gone(project, catalog, ground.clock.now())
    working = [spec for spec in specs if needs[spec.id].is_work]
    done: dict[str, Applied] = {}
    if working:
        with open_shop(ground, working) as shop:
            for applied in run_pipelines(shop, working, needs):
                done[applied.pipeline] = applied
    return [done.get(spec.id) or left_alone(catalog, spec, needs[spec.id]) for spec in specs]


def run_now(ground: Ground, spec: PipelineSpec) -> Applied:
    """One run of one pipeline because somebody asked. A failed one waits for a decision all the same.

    While the history is pulled, it dispatches as many chunks as a tick may.
    """
    need = need_of(ground.catalog, spec, ground.project.root, ground.clock.now())
    if need is Need.WAITS:
        return left_alone(ground.catalog, spec, need)
    is_history = phase_of(ground, PipelineId(spec.id)) is not Phase.STREAMING
    most = spec.backfill.max_chunks_per_tick if is_history else None
    with open_shop(ground, [spec]) as shop:
        (applied,) = run_pipelines(shop, [spec], {spec.id: Need.ASKED}, most_chunks=most)
    return applied


@contextmanager
def open_shop(ground: Ground, specs: Sequence[PipelineSpec]) -> Iterator[Shop]:
    """What the runs of this process share until the block ends: leases are kept, and views are written."""
    publisher = Publisher(ground.layout, ground.catalog)

    def told(tables: tuple[TableName, ...]) -> None:
        ground.listen(Published(tables=tables))

    with (
        known_node(ground.nodes, ground.node),
        LeaseKeeper(ground.catalog, ground.clock, ground.lease, on_lost=lambda _: None) as keeper,
        Publishing(publisher, ground.reached, told) as publishing,
    ):
        ground.reached(Step.NODE_KNOWN)
        bury_the_dead(ground.catalog, ground.nodes, ground.clock)
        yield Shop(
            ground=ground,
            keeper=keeper,
            publishing=publishing,
            slots=Slots(chunks_at_once(specs, ground.chunks_at_once)),
        )


def chunks_at_once(specs: Sequence[PipelineSpec], most: int) -> int:
    """How many chunks a process works on, over all of these: the lowest number that any of them names."""
    caps = [spec.backfill.max_parallel_chunks for spec in specs]
    return min(cap for cap in (most, *caps) if cap is not None)


def run_one(shop: Shop, spec: PipelineSpec, need: Need, allowance: Allowance) -> Applied:
    """One run of a pipeline, in this thread. What goes wrong with the pipeline is in the result."""
    run = PipelineRun(shop=shop, spec=spec, is_tick=need.is_tick, allowance=allowance)
    try:
        result = run.work()
    except LeaseHeldElsewhere as error:
        return Applied(pipeline=spec.id, need=need, error=error)
    if result.error is not None and _is_about_manifest(result.error):
        result.error.places = result.error.places or (shop.ground.project.place_of(spec.id),)
    return Applied(pipeline=spec.id, need=need, result=result, error=result.error)


def _is_about_manifest(error: HakiriError) -> bool:
    """Whether what is to be mended is what the manifest says, of the pipeline or of its source."""
    return error.exit_code is ExitCode.USAGE or error.code.startswith("sources.")


def run_pipelines(
    shop: Shop,
    specs: Sequence[PipelineSpec],
    needs: Mapping[str, Need],
    *,
    most_chunks: int | None = None,
) -> list[Applied]:
    """Run them, several at once; the results are in the order of the pipelines."""
    waiting = list(enumerate(specs))
    results: dict[int, Applied] = {}
    raised: list[BaseException] = []
    lock = threading.Lock()

    def work() -> None:
        while not shop.ground.stop.is_asked:
            with lock:
                if not waiting or raised:
                    return
                number, spec = waiting.pop(0)
            try:
                applied = run_one(shop, spec, needs[spec.id], Allowance(most_chunks))
            except BaseException as error:
                with lock:
                    raised.append(error)  # raised again below, in the thread of the caller
                return
            with lock:
                results[number] = applied

    def work_and_tell(ended: threading.Event) -> None:
        try:
            work()
        finally:
            ended.set()

    # Not by `join`: once Ctrl-C has interrupted one, Python 3.11 takes the thread for ended (bpo-45274).
    ends = [threading.Event() for _ in range(min(PIPELINES_AT_ONCE, len(specs)))]
    for ended in ends:
        threading.Thread(target=work_and_tell, args=(ended,), daemon=True).start()
    try:
        for ended in ends:
            while not ended.wait(0.2):
                pass  # in slices, so that Ctrl-C is heard
    except KeyboardInterrupt:
        shop.ground.stop.ask()
        if shop.ground.sessions.is_open:
            shop.ground.sessions.get().interruptAll()
        for ended in ends:
            ended.wait()
        raise
    if raised:
        raise raised[0]
    return [results[number] for number in sorted(results)]
