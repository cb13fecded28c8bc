"""A table that nobody compacted for a year: it is queried as fast as its files allow, and then it is folded.

The suite has a tenth of a quarter of it, `make nightly` all 35,000 pulls.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS, open_workshop
from tests.support.year import ROWS_A_PULL, Year

from hakiri.store.reading import open_reader, visible_files

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]

PULLS = int(os.environ.get("HAKIRI_YEAR_PULLS", "875"))
MOST_TIMES = 1.5
MOST_MIB = 300
ROWS = "SELECT count(*), sum(amount) FROM"
# What anybody would ask who knows how the newest row of a key is found.
BARE = f"""{ROWS} (
    SELECT amount, _op FROM read_parquet(?)
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY _seq DESC, _position DESC) = 1
) WHERE _op <> 'delete'"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_workshop(tmp_path_factory.mktemp("year") / "store") as workshop:
        Year(workshop, PULLS).fill()
        workshop.publish()
        yield Bench(workshop)


def cost(ask: Callable[[], Any]) -> tuple[float, Any]:
    """The least that it took of all cores, in seconds, and the answer: other programs do not stretch that."""
    costs = []
    for _ in range(3):
        began = time.process_time()
        answer = ask()
        costs.append(time.process_time() - began)
    return min(costs), answer


def ask_bare(paths: list[str]) -> Any:
    with duckdb.connect() as connection:
        return connection.execute(BARE, [paths]).fetchall()


def ask_ours(bench: Bench) -> Any:
    with open_reader(bench.workshop.layout) as connection:
        return connection.execute(f"{ROWS} orders").fetchall()


def memory_mib(name: str) -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(name)) // 1024


@pytest.mark.spec("HC-011")
def test_before_it_is_folded_a_query_costs_what_its_files_cost(bench: Bench) -> None:
    found = visible_files(bench.workshop.layout, bench.workshop.catalog, ORDERS)
    assert found is not None
    paths = [str(path) for path in found.files[1]]

    bare, expected = cost(lambda: ask_bare(paths))
    ours, answer = cost(lambda: ask_ours(bench))

    assert (len(paths), answer) == (PULLS, expected)
    assert answer[0][0] == Year(bench.workshop, PULLS).keys
    assert ours < bare * MOST_TIMES


@pytest.mark.spec("HC-011")
@pytest.mark.spec("HC-042")
def test_it_is_folded_in_bounded_memory_and_queried_in_no_time_afterwards(bench: Bench) -> None:
    before, answer = cost(lambda: ask_ours(bench))
    Path("/proc/self/clear_refs").write_text("5")  # from here on the most that is taken is measured
    held = memory_mib("VmRSS")

    made = bench.compacted()

    assert memory_mib("VmHWM") - held < MOST_MIB
    assert made.rows_read == PULLS * ROWS_A_PULL
    after, same = cost(lambda: ask_ours(bench))
    assert same == answer
    assert after * 4 < before
