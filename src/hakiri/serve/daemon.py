"""The loop of `hakiri serve`: looks at all pipelines again and again, and runs those that need it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hakiri.catalog.errors import CatalogError
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.manifest import PipelineSpec, Project
from hakiri.pipelines.asking import with_news
from hakiri.pipelines.choosing import Applied, retire_the_gone
from hakiri.pipelines.chunks.due import may_dispatch, next_due
from hakiri.pipelines.needs import Need, need_of
from hakiri.pipelines.runtime.allowance import Allowance
from hakiri.pipelines.runtime.apply import PIPELINES_AT_ONCE, chunks_at_once, run_one
from hakiri.pipelines.runtime.burying import bury_the_dead
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.shop import Shop, phase_of
from hakiri.serve.looks import Look, due_at, look_at
from hakiri.serve.patience import Patience
from hakiri.serve.telling import Teller
from hakiri.serve.upkeep import Manner, Upkeep

# How often everything is looked at when no schedule comes before: what others changed is seen then.
LOOK_SECONDS = 10.0
# How long nobody needs Spark before its session is let go.
REST_AFTER = timedelta(minutes=5)
# A shorter pause than this is not told.
WORTH_TELLING = timedelta(minutes=1)


@dataclass(kw_only=True)
class _UnderWay:
    """A pipeline that this process runs."""

    look: Look
    allowance: Allowance
    ticked_at: datetime
    ended: threading.Event = field(default_factory=threading.Event)


class Daemon:
    """Keeps the pipelines of a project as its manifest says, and looks after their tables.

    `load` reads the manifest; it is read again at every look, and while it is wrong the last one that was
    right stays in force. A failed pipeline waits for a decision, like everywhere; the others go on.
    """

    def __init__(
        self,
        shop: Shop,
        *,
        load: Callable[[], Project],
        teller: Teller,
        news_every: timedelta,
        manner: Manner | None = None,
    ) -> None:
        self._shop = shop
        self._load = load
        self._teller = teller
        self._news_every = news_every
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._under_way: dict[str, _UnderWay] = {}
        self._patience = Patience()
        self._news: set[str] = set()
        self._asked_at: datetime | None = None
        self._asker: threading.Thread | None = None
        self._told_trouble: str | None = None
        self._worked_at = shop.ground.clock.now()
        self._next_look: datetime | None = None
        self._is_idle = False
        self._upkeep = Upkeep(shop, teller, self._woken.set, manner or Manner())
        retire_the_gone(shop.ground.project, shop.ground.catalog, shop.ground.clock.now())

    @property
    def ground(self) -> Ground:
        return self._shop.ground

    def work(self) -> None:
        """Look and run until somebody asks to stop; what is under way is given back then."""
        try:
            while not self.ground.stop.is_asked:
                self.look()
                self._woken.wait(self._seconds_to_next_look())
                self._woken.clear()
        finally:
            self.stop()

    def look(self) -> None:
        """See what every pipeline needs, and start what there is room for."""
        try:
            trouble = self._reload()
            bury_the_dead(self.ground.catalog, self.ground.nodes, self.ground.clock)
            self._look()
        except CatalogError as error:
            trouble = error
            self._next_look = None
        if trouble is not None and str(trouble) != self._told_trouble:
            self._teller.troubled(trouble)
        self._told_trouble = None if trouble is None else str(trouble)

    @property
    def busy(self) -> int:
        """How many runs are under way, without those that wait for a tick."""
        return sum(not each.allowance.is_waited_for for each in self._running())

    @property
    def is_keeping_up(self) -> bool:
        """Whether a table is being compacted, or garbage collected."""
        return self._upkeep.is_busy

    def stop(self) -> None:
        """Have everything that is under way given back, and wait for that."""
        self.ground.stop.ask()
        running = self._running()
        if running:
            self._interrupt()
        for each in running:
            each.ended.wait()
        self._upkeep.stop(self._interrupt)

    def _interrupt(self) -> None:
        if self.ground.sessions.is_open:
            self.ground.sessions.get().interruptAll()

    def _look(self) -> None:
        now = self.ground.clock.now()
        asked_for, quiet, next_fires = [], [], []
        with self._lock:
            news, under_way = self._news, dict(self._under_way)
        for spec in self.ground.project.pipelines:
            if spec.id in under_way:
                next_fires.append((self._tick(under_way[spec.id], now), spec.id))
                continue
            need = need_of(self.ground.catalog, spec, self.ground.project.root, now)
            if need is Need.NOTHING and spec.id in news:
                need = Need.NEWS
            elif need is Need.NOTHING and spec.schedule is None:
                quiet.append(spec)
            if need is Need.NOTHING:
                next_fires.append((due_at(self.ground.catalog, spec, now), spec.id))
            elif need.is_work and self._patience.may_try(spec.id, now):
                look = look_at(self.ground.catalog, spec, need, now, lease=self.ground.lease)
                if look.may_start:
                    asked_for.append(look)
        self._ask_for_news(quiet, now)
        # Whoever waited longest comes first, so that none is forgotten when there are many.
        long_ago = datetime.min.replace(tzinfo=UTC)
        left = 0
        for look in sorted(asked_for, key=lambda look: look.last_started or long_ago):
            if self.busy < PIPELINES_AT_ONCE:
                self._start(look, now)
            else:
                left += 1
        self._upkeep.look(self._shop, now, is_crowded=left > 0)
        self._note_idle(min(((at, name) for at, name in next_fires if at is not None), default=None), now)

    def _tick(self, one: _UnderWay, now: datetime) -> datetime | None:
        """Let a history go on if its schedule has fired; when it fires next.

        Never a second run: the one that is under way gets as many chunks as a tick may dispatch.
        """
        spec = one.look.spec
        due = next_due(spec.schedule, one.ticked_at, UTC)
        if due is None or due > now:
            return due
        one.ticked_at = now
        tally = self.ground.catalog.chunks.tally(PipelineId(spec.id))
        room = tally.running + self._shop.slots.free
        ready = may_dispatch(
            phase_of(self.ground, PipelineId(spec.id)),
            running=tally.running,
            pending=tally.pending,
            max_chunks_per_tick=spec.backfill.max_chunks_per_tick,
            capacity=min(room, spec.backfill.parallelism or room),
        )
        if ready:
            one.allowance.renew()
        return next_due(spec.schedule, now, UTC)

    def _start(self, look: Look, now: datetime) -> None:
        one = _UnderWay(look=look, allowance=Allowance(look.limit, is_renewed=True), ticked_at=now)
        with self._lock:
            self._under_way[look.spec.id] = one
            self._news.discard(look.spec.id)
        self._is_idle = False
        threading.Thread(
            target=self._run, args=(one, self._shop), name=f"hakiri-{look.spec.id}", daemon=True
        ).start()

    def _run(self, one: _UnderWay, shop: Shop) -> None:
        name = one.look.spec.id
        try:
            applied = run_one(shop, one.look.spec, one.look.need, one.allowance)
            self._teller.ended(applied)
            self._remember(name, was_in_vain=_was_in_vain(applied))
        except Exception as error:  # told, and tried again later: the other pipelines must go on
            self._teller.crashed(name, error)
            self._remember(name, was_in_vain=True)
        finally:
            with self._lock:
                del self._under_way[name]
                self._worked_at = self.ground.clock.now()
            one.ended.set()
            self._woken.set()

    def _remember(self, pipeline: str, *, was_in_vain: bool) -> None:
        """Leave a pipeline alone for a while, longer each time, that nothing could be done for."""
        self._patience.remember(pipeline, self.ground.clock.now(), was_in_vain=was_in_vain)

    def _reload(self) -> HakiriError | None:
        """Read the manifest again; what is wrong with it, if it cannot be taken."""
        before = list(self.ground.project.pipelines)
        try:
            project = self._load()
        except HakiriError as error:
            return error
        self._shop = replace(self._shop, ground=replace(self.ground, project=project))
        specs = list(project.pipelines)
        if specs == before:
            return None
        self._shop.slots.resize(chunks_at_once(specs, self.ground.chunks_at_once))
        for each in self._running():
            if each.look.spec not in specs:
                each.allowance.close()  # it ends instead of waiting, and goes on as the manifest says now
        retire_the_gone(project, self.ground.catalog, self.ground.clock.now())
        self._teller.reloaded(len(specs))
        self._is_idle = False
        return None

    def _ask_for_news(self, quiet: list[PipelineSpec], now: datetime) -> None:
        """Ask the sources of pipelines without a schedule, apart from this thread: they may be slow."""
        is_asking = self._asker is not None and self._asker.is_alive()
        is_early = self._asked_at is not None and now < self._asked_at + self._news_every
        if not quiet or is_asking or is_early:
            return
        self._asked_at = now
        ground = self.ground

        def ask() -> None:
            try:
                news = with_news(ground.project, quiet, ground.catalog, ground.env, ground.clock)
            except HakiriError:
                return  # asked again; whoever runs the pipeline tells what is wrong
            with self._lock:
                self._news |= news - set(self._under_way)
            if news:
                self._woken.set()

        self._asker = threading.Thread(target=ask, name="hakiri-news", daemon=True)
        self._asker.start()

    def _note_idle(self, following: tuple[datetime, str] | None, now: datetime) -> None:
        self._next_look = following[0] if following is not None else None
        if self._upkeep.is_busy:
            self._worked_at = now
        if self.busy:
            return
        if now - self._worked_at > REST_AFTER:
            self.ground.sessions.rest()
        if self._is_idle or self._running():
            return
        at, name = following if following is not None else (None, None)
        if at is None or at - now >= WORTH_TELLING:
            self._is_idle = True
            self._teller.idle(name, at)

    def _seconds_to_next_look(self) -> float:
        if self._next_look is None:
            return LOOK_SECONDS
        return min(max((self._next_look - self.ground.clock.now()).total_seconds(), 0.0), LOOK_SECONDS)

    def _running(self) -> list[_UnderWay]:
        with self._lock:
            return list(self._under_way.values())


def _was_in_vain(applied: Applied) -> bool:
    """Whether to run it again at once would be, too: it failed, or others have what is left of it."""
    result = applied.result
    return applied.error is not None or result is None or not result.is_converged
