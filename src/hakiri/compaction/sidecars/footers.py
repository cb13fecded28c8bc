"""A sidecar that tells something of every row group, as one small Parquet file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.compaction.sidecars.contract import Staged, StagedFile
from hakiri.store.files import Files, write_new
from hakiri.store.sidecars import SidecarFile

PATH = "path"

Facts = list[dict[str, Any]]


def written_facts(
    name: str, facts: Iterable[dict[str, Any]], schema: pa.Schema, folder: Path, files: Files
) -> SidecarFile:
    """The facts as a file, by path and row group. It is durable when this returns."""
    from hashlib import sha256

    rows = sorted(facts, key=lambda fact: (fact[PATH], fact["row_group"]))
    sink = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    data = sink.getvalue()
    write_new(files, folder / name, data)
    return SidecarFile(name=name, bytes=len(data), sha256=sha256(data).hexdigest())


def facts_from_before(staged: Staged, name: str) -> Facts:
    """What the sidecar of the snapshot before says of the files that stay as they are."""
    kept = {file.place for file in staged.files if file.is_kept}
    if staged.before is None or not kept or not (staged.before / name).exists():
        return []
    rows = pq.read_table(staged.before / name)
    facts: Facts = rows.filter(pc.is_in(rows.column(PATH), pa.array(sorted(kept)))).to_pylist()
    return facts


def still_unknown(staged: Staged, known: Collection[dict[str, Any]]) -> tuple[StagedFile, ...]:
    """The files that nothing is said of yet."""
    places = {fact[PATH] for fact in known}
    return tuple(file for file in staged.files if file.place not in places)
