"""One of several processes that land rows in one store and publish them: `python -m tests.store.crowd`."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from tests.store.workshop import ORDERS, open_workshop

SCHEMA = pa.schema([("id", pa.int64())])


def work(root: Path, first: int, count: int) -> None:
    with open_workshop(root) as workshop:
        workshop.plans = iter(range(first * 1000, (first + 1) * 1000))
        publisher = workshop.publisher
        for number in range(count):
            workshop.land([{"id": first * 1000 + number}], SCHEMA)
            publisher.publish([ORDERS])


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
