"""The suite holds a backend to its list: a broken promise must be on it, and a kept one must not."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.testing.divergences import upholds

if TYPE_CHECKING:
    from collections.abc import Callable

pytest_plugins = ["pytester"]

LINEAGE_TRIGGERS = ("lineage_fixed", "lineage_kept", "lineage_again")


@pytest.fixture
def run_suite(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Runs the part of the suite about lineage on SQLite without some triggers."""

    def run(
        *args: str, lacks: tuple[str, ...] = (), declares: tuple[Invariant, ...] = ()
    ) -> pytest.RunResult:
        declared = [invariant.name for invariant in declares]
        pytester.makeini("[pytest]\nmarkers = spec(id)\n")
        pytester.makepyfile(
            dedent(
                f"""
                import pytest
                from hakiri.catalog.contract.upkeep import Invariant
                from hakiri.catalog.testing.lineage import LineageContract
                from tests.support.unguarded import UnguardedOpener

                class TestUnguarded(LineageContract):
                    @pytest.fixture
                    def opener(self, tmp_path):
                        declares = tuple(Invariant[name] for name in {declared!r})
                        return UnguardedOpener(base=tmp_path, lacks={lacks!r}, declares=declares)

                    @pytest.fixture
                    def vandal(self, opener):
                        return opener.vandal()
                """
            )
        )
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-ra", *args)

    return run


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return {kind: count for kind, count in result.parseoutcomes().items() if kind != "passed"}


@pytest.mark.spec("AD-015")
def test_a_promise_that_is_kept_needs_no_word(run_suite: Callable[..., pytest.RunResult]) -> None:
    assert outcomes(run_suite()) == {}


@pytest.mark.spec("AD-015")
@pytest.mark.spec("AD-022")
def test_a_broken_promise_that_was_not_declared_fails(run_suite: Callable[..., pytest.RunResult]) -> None:
    result = run_suite(lacks=LINEAGE_TRIGGERS)

    assert outcomes(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["*attack 1 was let through*"])


@pytest.mark.spec("AD-015")
@pytest.mark.parametrize("lacks", [LINEAGE_TRIGGERS, LINEAGE_TRIGGERS[:1]], ids=["all", "one of them"])
def test_a_broken_promise_that_was_declared_is_expected(
    run_suite: Callable[..., pytest.RunResult], lacks: tuple[str, ...]
) -> None:
    result = run_suite(lacks=lacks, declares=(Invariant.APPEND_ONLY_LINEAGE,))

    assert outcomes(result) == {"xfailed": 1}
    result.stdout.fnmatch_lines(["XFAIL *removes_no_edge* declared: its triggers were dropped*"])


@pytest.mark.spec("AD-015")
def test_a_declared_divergence_that_does_not_show_is_an_error(
    run_suite: Callable[..., pytest.RunResult],
) -> None:
    result = run_suite(declares=(Invariant.APPEND_ONLY_LINEAGE,))

    assert outcomes(result) == {"errors": 1}
    result.stdout.fnmatch_lines(
        "*`append-only-lineage` is declared as a divergence (its triggers were dropped), but kept: *"
    )


@pytest.mark.spec("AD-015")
def test_another_divergence_excuses_nothing(run_suite: Callable[..., pytest.RunResult]) -> None:
    result = run_suite(lacks=LINEAGE_TRIGGERS, declares=(Invariant.CHUNKS_ONCE,))

    assert outcomes(result) == {"failed": 1}


def test_a_part_of_the_tests_proves_nothing_about_a_divergence(
    run_suite: Callable[..., pytest.RunResult],
) -> None:
    result = run_suite(
        "-k", "add_the_same_edges", lacks=LINEAGE_TRIGGERS, declares=(Invariant.APPEND_ONLY_LINEAGE,)
    )

    assert outcomes(result).keys() == {"deselected"}


def test_a_test_that_cannot_be_judged_is_refused() -> None:
    with pytest.raises(TypeError, match="does not take `catalog`"):

        @upholds(Invariant.CHUNKS_ONCE)
        def blind(self: object) -> None: ...
