"""Promises that a backend says openly it does not keep, and whether that is so."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import pytest

from hakiri.catalog.contract.upkeep import Divergences, Invariant

Test = TypeVar("Test", bound=Callable[..., None])

_INVARIANT = "upheld_invariant"


class Ledger:
    """What the tests of one class have shown of the divergences that its backend declares."""

    def __init__(self) -> None:
        self._declared: dict[Invariant, str] = {}
        self._kept: defaultdict[Invariant, set[str]] = defaultdict(set)
        self._broken: set[Invariant] = set()

    def note_kept(self, test: str, invariant: Invariant, declared: Divergences) -> None:
        self._declared |= declared
        self._kept[invariant].add(test)

    def note_broken(self, invariant: Invariant) -> None:
        self._broken.add(invariant)

    def needless(self, tests: dict[Invariant, set[str]]) -> list[str]:
        """The divergences that were declared and yet kept by every one of these tests."""
        return [
            f"`{invariant}` is declared as a divergence ({reason}), but kept: take it off the list"
            for invariant, reason in self._declared.items()
            if invariant not in self._broken
            and tests[invariant]
            and self._kept[invariant] >= tests[invariant]
        ]


class DivergenceCheck:
    """Holds a backend to its list: a test about a declared divergence may fail, and one of them must."""

    ledger: Ledger

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def declared_divergences_show(cls) -> Iterator[None]:
        """Fails after the last test if a declared divergence was tested and never seen.

        Only when all tests about it have run: a part of them proves nothing.
        """
        cls.ledger = Ledger()
        yield
        tests: defaultdict[Invariant, set[str]] = defaultdict(set)
        for name, test in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("test") and hasattr(test, _INVARIANT):
                tests[getattr(test, _INVARIANT)].add(name)
        if needless := cls.ledger.needless(tests):
            pytest.fail("\n".join(needless), pytrace=False)


def upholds(invariant: Invariant) -> Callable[[Test], Test]:
    """Mark a test, which takes `catalog`, as being about one of the promises.

    For a backend that declares the divergence, its failure is expected.
    """

    def mark(test: Test) -> Test:
        if "catalog" not in inspect.signature(test).parameters:
            raise TypeError(f"`{test.__name__}` cannot be judged: it does not take `catalog`")

        @wraps(test)
        def judged(self: DivergenceCheck, **fixtures: Any) -> None:
            declared: Divergences = fixtures["catalog"].divergences
            if invariant not in declared:
                test(self, **fixtures)
                return
            try:
                test(self, **fixtures)
            except (Exception, pytest.fail.Exception) as failure:
                self.ledger.note_broken(invariant)
                pytest.xfail(f"declared: {declared[invariant]} ({type(failure).__name__})")
            self.ledger.note_kept(test.__name__, invariant, declared)

        setattr(judged, _INVARIANT, invariant)
        return judged  # type: ignore[return-value]

    return mark
