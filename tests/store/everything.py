"""A small store that has something of everything: the one that checks are tried on, and the golden one."""

from __future__ import annotations

import pyarrow as pa
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS, T0

from hakiri.compaction.recipes import TableLayout
from hakiri.core.ids import TableName
from hakiri.store.writing import BadRows

EVENTS = TableName("events")
FIRST = pa.schema([("id", pa.int32()), ("name", pa.string())])
SECOND = pa.schema([("id", pa.int64()), ("name", pa.string()), ("total", pa.decimal128(10, 2))])
EVENT = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def make_everything(bench: Bench) -> None:
    """Orders with a key, folded twice over two schemas and with more behind; events without one."""
    workshop = bench.workshop
    workshop.land(
        [{"id": 1, "name": "Ada"}, {"id": None, "name": "nobody"}], FIRST, "id", bad_rows=BadRows.QUARANTINE
    )
    bench.land([{"id": 2, "name": "Bo"}, {"id": 3, "name": "Cy"}], FIRST, "id")
    bench.compacted()
    bench.land([{"id": 2**40, "name": "Di", "total": 950}, {"id": 3, "_op": "delete"}], SECOND, "id")
    bench.compacted(TableLayout(cluster_by=("name", "id")))
    bench.land([{"id": 1, "name": "Ada L."}, {"id": 2, "name": "Bo"}], SECOND, "id")
    bench.land([{"id": 2, "name": "Bo!"}, {"id": 2, "name": "Bo?"}], SECOND, "id")
    workshop.land([{"n": n, "at": T0} for n in range(3)], EVENT, table=EVENTS)
    workshop.publish(ORDERS, EVENTS)
