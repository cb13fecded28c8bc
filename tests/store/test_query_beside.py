"""Work of a session in another thread ends with the session, whenever Ctrl-C comes."""

from __future__ import annotations

import os
import random
import signal
from functools import partial
from threading import Thread
from time import monotonic, sleep
from types import FrameType
from typing import Self

import pytest
from tests.store.workshop import Workshop

from hakiri.store.query.beside import Beside
from hakiri.store.query.connecting import StoreState
from hakiri.store.query.session import Session

FOREVER = "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range * b.range % 7 = 3"
TRIES = 100


def test_what_is_called_off_before_it_began_never_begins() -> None:
    done: list[int] = []
    beside = Beside(lambda: done.append(1), lambda: None)

    beside.call_off()
    beside.start()
    beside.wait()

    assert done == []


# One that comes where Python cannot raise it, as when garbage is collected, is told as such, and comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(60)
def test_a_session_ends_whenever_it_is_interrupted(workshop: Workshop) -> None:
    workshop.publish()
    chance = random.Random(5)
    with CtrlC() as ctrl_c:
        for _ in range(TRIES):
            session = Session(workshop.layout, lambda: StoreState(layout=workshop.layout), lambda _: None)
            try:
                ctrl_c.come_after(chance.uniform(0.0, 0.001))
                work = session.beside(partial(_ask, session))
                work.start()
                work.wait()
            except KeyboardInterrupt:
                ctrl_c.is_awaited = False
            began = monotonic()
            session.close()
            assert monotonic() - began < 5


class CtrlC:
    """What Ctrl-C does to this thread, but only where it is awaited."""

    def __init__(self) -> None:
        self.is_awaited = False

    def come_after(self, seconds: float) -> None:
        """And once more if nobody heard it: what is raised where an object is freed is lost."""

        def interrupt() -> None:
            sleep(seconds)
            while self.is_awaited:
                os.kill(os.getpid(), signal.SIGUSR1)
                sleep(1)

        self.is_awaited = True
        Thread(target=interrupt, daemon=True).start()

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGUSR1, self._raise)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGUSR1, self._before)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self.is_awaited:
            raise KeyboardInterrupt


def _ask(session: Session) -> None:
    with pytest.raises(KeyboardInterrupt), session.failures_told():
        session.connection.execute(FOREVER)
