"""Which claims have rows in a snapshot, from its files."""

from __future__ import annotations

import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.store.layout import StoreLayout
from hakiri.store.rebuild.landing import FindClaims
from hakiri.store.rows import SEQ
from hakiri.store.snapshots import SnapshotManifest


def claims_in(layout: StoreLayout) -> FindClaims:
    """Reads one column of the snapshot's files, row group by row group."""

    def find(snapshot: SnapshotManifest) -> set[int]:
        found: set[int] = set()
        for file in snapshot.files:
            parquet = pq.ParquetFile(layout.data_folder(snapshot.table) / file.path)
            for batch in parquet.iter_batches(columns=[SEQ]):
                found.update(pc.unique(batch.column(0)).to_pylist())
        return found

    return find
