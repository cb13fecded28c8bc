"""A small store that has something of everything: the one that checks are tried on, and the golden one."""

from __future__ import annotations

import hashlib
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS, T0

from hakiri.catalog.contract.snapshots import Sidecar
from hakiri.compaction.compacting import TableLayout
from hakiri.compaction.steps import Step, unwatched
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import IndexId, SnapshotId, TableName
from hakiri.store.layout import snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.writing import BadRows

EVENTS = TableName("events")
FIRST = pa.schema([("id", pa.int32()), ("name", pa.string())])
SECOND = pa.schema([("id", pa.int64()), ("name", pa.string()), ("total", pa.decimal128(10, 2))])
EVENT = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def make_everything(bench: Bench, *, has_index: bool = True) -> None:
    """Orders with a key, folded twice over two schemas and with more behind; events without one."""
    workshop = bench.workshop
    workshop.land(
        [{"id": 1, "name": "Ada"}, {"id": None, "name": "nobody"}], FIRST, "id", bad_rows=BadRows.QUARANTINE
    )
    bench.land([{"id": 2, "name": "Bo"}, {"id": 3, "name": "Cy"}], FIRST, "id")
    bench.compacted()
    bench.land([{"id": 2**40, "name": "Di", "total": 950}, {"id": 3, "_op": "delete"}], SECOND, "id")
    laid_out = TableLayout(cluster_by=("name", "id"))
    bench.compacted(laid_out, reached=partial(note_sidecar, bench) if has_index else unwatched)
    bench.land([{"id": 1, "name": "Ada L."}, {"id": 2, "name": "Bo"}], SECOND, "id")
    bench.land([{"id": 2, "name": "Bo!"}, {"id": 2, "name": "Bo?"}], SECOND, "id")
    workshop.land([{"n": n, "at": T0} for n in range(3)], EVENT, table=EVENTS)
    workshop.publish(ORDERS, EVENTS)


def note_sidecar(bench: Bench, step: Step) -> None:
    """An index beside a snapshot that is about to be committed, as far as the store knows of indexes."""
    if step is not Step.DATA_RENAMED:
        return
    layout, catalog = bench.workshop.layout, bench.workshop.catalog
    (snapshot,) = {
        path.name.removeprefix("snapshot=") for path in layout.data_folder(ORDERS).glob("snapshot=*")
    } - {row.snapshot for row in catalog.snapshots.all(ORDERS)}
    folder = layout.index_folder(ORDERS, "pk-id") / snapshot_name(snapshot)
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), folder / "part-00000.parquet")
    data = (folder / "part-00000.parquet").read_bytes()
    said = {
        "format": 1,
        "files": [
            {"name": "part-00000.parquet", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        ],
    }
    text = f"{canonical_json(said)}\n".encode()
    (folder / FILE_NAME).write_bytes(text)
    sidecar = Sidecar(
        snapshot=SnapshotId(snapshot),
        index=IndexId("pk-id"),
        manifest_hash=hashlib.sha256(text).hexdigest(),
        bytes=len(data),
    )
    catalog.snapshots.note_sidecar(sidecar, T0)
