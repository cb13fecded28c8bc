"""The connector `singer`: the streams of a Singer tap as tables, read by running it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from hakiri.core.cursors import CursorKind
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Context, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.singer.catalog import Stream, table_of
from hakiri.sources.singer.config import SingerConfig
from hakiri.sources.singer.discovery import Streams
from hakiri.sources.singer.reading import Wanted, batches_of, state_in
from hakiri.sources.singer.running import Tap
from hakiri.sources.singer.selecting import chosen_catalog


class SingerConnector(Connector):
    """Runs the tap anew for every read, and once before to learn its streams, unless it is told them."""

    Config: ClassVar[type[SourceConfig]] = SingerConfig
    summary = "whatever has a Singer tap, by running the tap"
    # A batch has about so many records, if there are more: fewer are not worth a file.
    batch_records: ClassVar[int] = 5_000
    most_line_bytes: ClassVar[int] = 64 * 2**20
    config: SingerConfig

    def __init__(self, config: SingerConfig, context: Context) -> None:
        super().__init__(config, context)
        self._tap = Tap(config, context, most_line_bytes=self.most_line_bytes)
        self._streams = Streams(self._tap, config, context.root)
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tap said so far that was left out, each once, in words for people."""
        return tuple(self._notes)

    def watch_log(self, on_log: Callable[[str], None]) -> None:
        """Have every line that the tap logs from now on told, without any secret in it."""
        self._tap.on_log = on_log

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        streams = self._streams.known(only)
        chosen = streams if only is None else [self._streams.find(name, streams) for name in only]
        return tuple(self._table(stream) for stream in chosen)

    def open(self, read: Read) -> Iterator[Batch]:
        if read.window is not None:
            raise PermanentFailure(
                f"a tap cannot be asked for a window of `{read.window.field}`",
                hint="leave `backfill.window` away: a tap goes on from its own state",
            )
        streams = self._streams.known([read.table])
        chosen = self._streams.find(read.table, streams)
        wanted = Wanted(
            tap=self._tap.name,
            stream=chosen,
            others=tuple(stream for stream in streams if stream is not chosen),
            schema=read.schema if read.schema is not None else self._table(chosen).schema,
            before=read.cursor,
            limit=read.limit,
            enough_records=self.batch_records,
            sets_aside=read.sets_aside,
        )
        return self._batches(self._files_for(read, chosen, streams), wanted)

    def backfill_hint(self, table: str) -> Hint:
        """A state means something to its tap alone, so a stream is read in one go."""
        return Hint(cursor_kind=CursorKind.OPAQUE_TOKEN)

    def check(self) -> str:
        count = len(self._streams.known(None))
        return f"{self._tap.name} tells of {count} stream{'' if count == 1 else 's'}"

    def close(self) -> None:
        self._tap.close()

    def _batches(self, files: Mapping[str, Any], wanted: Wanted) -> Iterator[Batch]:
        with self._tap.run(files) as run:
            yield from batches_of(run, wanted, clock=self.context.clock, mask=self._tap.mask, note=self._note)

    def _files_for(self, read: Read, chosen: Stream, streams: Sequence[Stream]) -> dict[str, Any]:
        """What the tap is started with beside its config, by the names of its options."""
        files: dict[str, Any] = {}
        if chosen.is_in_catalog:
            files["properties" if self.config.properties else "catalog"] = chosen_catalog(
                streams,
                chosen,
                select=self.config.select.get(chosen.id),
                metadata=self.config.metadata,
                incremental=read.incremental,
                is_legacy=self.config.properties,
            )
        elif read.incremental is not None and read.incremental not in chosen.replication_keys:
            raise PermanentFailure(
                f"the stream `{chosen.id}` cannot be read by `{read.incremental}`",
                hint="leave `incremental` away: this tap has no catalog in which to ask for it",
            )
        state = state_in(read.cursor)
        return files if state is None else {**files, "state": state}

    def _table(self, stream: Stream) -> Table:
        return table_of(stream, self.config.select.get(stream.id))

    def _note(self, text: str) -> None:
        self._notes[text] = None
