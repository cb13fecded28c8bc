"""The tasks of a merge: a few new rows go into the files of a sorted snapshot, and other files stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.compaction.conforming import Conformer
from hakiri.compaction.exchange import Piece, gathered
from hakiri.compaction.matching import Wanted
from hakiri.compaction.ordering import MOST_RANGE_COLUMNS, Numbers, Ranges, sorted_by
from hakiri.compaction.row_files import (
    batches,
    first_row,
    laid_out,
    newest,
    not_deleted,
    opened,
    whole_batches,
    with_label,
    written,
)
from hakiri.compaction.tasks import InputFile, Recipe, Report, Slot
from hakiri.store.rows import SEQ

_MOST_WIDE_BOUNDS = 10_000  # with more of them, four columns have no room in one number
_FEW_COLUMNS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentTask:
    """Settles the new rows among themselves, sorts them, and says which file each belongs into.

    It leaves two files: the rows, and the keys that are not to be found in the snapshot any more.
    """

    recipe: Recipe
    pieces: tuple[Piece, ...]
    base: tuple[InputFile, ...]
    folder: str

    def work(self, attempt: str) -> Report:
        recipe, conform = self.recipe, self.recipe.conformer()
        rows = gathered(self.pieces, with_label(conform.schema, recipe)).combine_chunks()
        places = newest(rows, recipe)
        kept = not_deleted(rows, places)
        kept = kept[sorted_by(rows.select(list(recipe.order)).take(pa.array(kept)), recipe.order)]
        recent = rows.take(pa.array(kept))
        folder = Path(self.folder)
        paths = (str(folder / f"recent-{attempt}.arrow"), str(folder / f"keys-{attempt}.arrow"))
        keys = rows.select(list(recipe.primary_key)).take(pa.array(places))
        for path, table in zip(paths, (recent, keys), strict=True):
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
        slots = tuple(self._slots(recent, conform))
        return Report(read=rows.num_rows, sent=recent.num_rows, slots=slots, paths=paths)

    def _slots(self, recent: pa.Table, conform: Conformer) -> Iterator[Slot]:
        """The rows of each file, which stand together since they are sorted."""
        if self.recipe.partitioning is None:
            yield from self._slots_within(recent, None, 0, conform)
            return
        start = 0
        labels = recent.column(self.recipe.label)
        for entry in pc.value_counts(labels).to_pylist():  # in the order of the rows
            some = recent.slice(start, entry["counts"])
            yield from self._slots_within(some, entry["values"], start, conform)
            start += entry["counts"]

    def _slots_within(
        self, rows: pa.Table, partition: str | None, start: int, conform: Conformer
    ) -> Iterator[Slot]:
        files = [number for number, file in enumerate(self.base) if file.partition == partition]
        if not rows.num_rows:
            return
        if not files:
            yield Slot(file=None, start=start, count=rows.num_rows)
            return
        order = [name for name in self.recipe.order if name != self.recipe.label]
        firsts = pa.Table.from_batches(
            [first_row(self.base[number], conform.only(order)) for number in files]
        ).select(order)
        in_order = sorted_by(firsts, order)
        width = MOST_RANGE_COLUMNS if len(files) < _MOST_WIDE_BOUNDS else _FEW_COLUMNS
        bounds = firsts.select(order[:width]).take(pa.array(in_order[1:]))
        numbers = Ranges(bounds).of(rows)
        counts = np.bincount(numbers, minlength=len(files))
        for number, count in enumerate(counts.tolist()):
            if count:
                yield Slot(file=files[int(in_order[number])], start=start, count=count)
                start += count


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Writes a file of the snapshot before anew, with the rows of its slot; or leaves it as it is.

    It is left where no row of it is gone and none is new. `base` is none for rows of a new partition, and
    `recent` and `keys` are none where nothing is new and only rows of some claims are gone.
    """

    recipe: Recipe
    folder: str
    part: int
    parts: int
    most_rows: int
    base: InputFile | None = None
    is_moving: bool = False
    slot: Slot | None = None
    recent: str | None = None
    keys: str | None = None

    def work(self, attempt: str) -> Report:
        recipe, conform = self.recipe, self.recipe.conformer()
        if self.base is not None and self.slot is None and not self.is_moving and not self._is_touched():
            return Report(is_untouched=True)
        schema = with_label(conform.schema, recipe)
        found = list(whole_batches([self.base], conform)) if self.base is not None else []
        read = sum(count for count, _ in found)
        old = pa.concat_tables([schema.empty_table(), *(laid_out(some, recipe) for _, some in found)])
        if self.keys is not None and recipe.primary_key:
            gone = Wanted(_mapped(self.keys)).found_in(old.select(list(recipe.primary_key)))
            old = old.filter(pa.array(~gone))
        rows = pa.concat_tables([old, self._new_rows(schema)]).combine_chunks()
        places = sorted_by(rows.select(list(recipe.order)), recipe.order)
        count = max(1, -(-len(places) // self.most_rows))
        parts = [self.part + number * self.parts for number in range(count)]
        target = Path(self.folder)
        files = tuple(written(rows, places, recipe, schema=conform.schema, folder=target, parts=parts))
        return Report(read=read, sent=len(places), files=files)

    def _new_rows(self, schema: pa.Schema) -> pa.Table:
        if self.slot is None or self.recent is None:
            return schema.empty_table()
        return _mapped(self.recent).slice(self.slot.start, self.slot.count)

    def _is_touched(self) -> bool:
        """Whether a row of the file is gone. Only the columns that tell it are read."""
        base = self.base
        if base is None:
            return False
        if base.excluded:
            excluded = pa.array(base.excluded, pa.int64())
            with opened(base) as parquet:
                found = parquet.read(columns=[SEQ], use_threads=False).column(SEQ)
            if pc.any(pc.is_in(found, excluded)).as_py():
                return True
        key = list(self.recipe.primary_key)
        if self.keys is None or not key:
            return False
        wanted, conform = Wanted(_mapped(self.keys)), self.recipe.conformer().only(key)
        return any(
            _any(wanted.found_in(pa.Table.from_batches([rows]).select(key)))
            for _, rows in batches([base], conform)
        )


def _any(found: Numbers) -> bool:
    return bool(found.any())


def _mapped(path: str) -> pa.Table:
    return pa.ipc.open_stream(pa.memory_map(path)).read_all()
