"""Which streams a tap has: by a file, by its own discovery, or by what it says when it is run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from hakiri.core.nearest import nearest
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import BadJson, parse_json
from hakiri.sources.singer.catalog import Stream, stream_told, streams_in
from hakiri.sources.singer.config import SingerConfig
from hakiri.sources.singer.failures import failure_of, lacks_discovery
from hakiri.sources.singer.messages import Schema, message_in
from hakiri.sources.singer.process import TapRun
from hakiri.sources.singer.running import Tap

# A tap that has no catalog is run for so many lines to see which streams it has.
SAMPLE_LINES = 10_000
MOST_CATALOG_BYTES = 256 * 2**20


class Streams:
    """The streams of a tap, learnt once. Of one without a catalog, more may be learnt later."""

    def __init__(self, tap: Tap, config: SingerConfig, root: Path) -> None:
        self._tap = tap
        self._config = config
        self._root = root
        self._catalog: tuple[Stream, ...] | None = None
        self._told: dict[str, Stream] = {}
        self._has_catalog = True

    def known(self, only: Collection[str] | None) -> tuple[Stream, ...]:
        """All streams; of a tap without a catalog those that it has told of, with `only` if they exist."""
        if self._catalog is None and self._has_catalog:
            self._learn(only)
        if self._catalog is not None:
            return self._catalog
        if not self._told or (only is not None and not self._told.keys() >= set(only)):
            with self._tap.run({}) as run:
                self._listen(run.lines(), run, only)
        return tuple(self._told.values())

    def find(self, name: str, streams: Iterable[Stream]) -> Stream:
        """The stream of this name; raises PermanentFailure if there is none."""
        known = {stream.id: stream for stream in streams}
        if name not in known:
            meant = nearest(name, known)
            raise PermanentFailure(
                f"the tap `{self._tap.name}` has no stream `{name}`",
                hint=f"did you mean `{meant}`?" if meant else f"it has {', '.join(known) or 'none at all'}",
            )
        return known[name]

    def _learn(self, only: Collection[str] | None) -> None:
        found: tuple[Stream, ...] | None = None
        if self._config.catalog is not None:
            source = f"`{self._config.catalog}`"
            found = streams_in(_parsed(self._catalog_file(), source), source)
        elif self._config.discovery:
            found = self._discovered(only)
        if found is None:
            self._has_catalog = False
            return
        for stream in (*self._config.select, *self._config.metadata):
            self.find(stream, found)
        self._catalog = found

    def _catalog_file(self) -> bytes:
        name = self._config.catalog or ""
        try:
            return (self._root / name).read_bytes()
        except OSError as error:
            raise PermanentFailure(
                f"the catalog `{name}` cannot be read: {(error.strerror or '').lower()}",
                hint="check `catalog` in the source's config; it starts at the project's folder",
            ) from None

    def _discovered(self, only: Collection[str] | None) -> tuple[Stream, ...] | None:
        """The streams as the tap lists them; None if it does not know how to."""
        with self._tap.run({}, "--discover") as run:
            text = bytearray()
            lines = run.lines()
            for line in lines:
                if not text and _is_message(line):
                    # It overlooks the flag, and has just begun to give its rows.
                    self._listen(chain((line,), lines), run, only)
                    return None
                text += line + b"\n"
                if len(text) > MOST_CATALOG_BYTES:
                    raise PermanentFailure(f"the catalog of `{self._tap.name}` is too large to be read")
            code = run.code()
            if code and lacks_discovery(run.log):
                return None
            if code:
                raise failure_of(self._tap.name, code, run.log, has_given=False)
        source = f"what `{self._tap.name}` prints with --discover"
        return streams_in(_parsed(bytes(text), source), source)

    def _listen(self, lines: Iterable[bytes], run: TapRun, only: Collection[str] | None) -> None:
        """Take the streams that a tap tells of: until `only` are known, or for some thousand lines."""
        for number, line in enumerate(lines, start=1):
            message = message_in(line, number, self._tap.mask) if line.strip() else None
            if isinstance(message, Schema):
                self._told[message.stream] = stream_told(message)
            if number >= SAMPLE_LINES if only is None else self._told.keys() >= set(only):
                return
        if code := run.code():
            raise failure_of(self._tap.name, code, run.log, has_given=False)


def _parsed(text: bytes, source: str) -> Any:
    try:
        return parse_json(text)
    except BadJson as error:
        problem = str(error).removeprefix("the body is ")
        raise PermanentFailure(
            f"{source} is {problem}", hint="a catalog is one JSON object with a list `streams`"
        ) from None


def _is_message(line: bytes) -> bool:
    try:
        found = parse_json(line)
    except BadJson:
        return False
    return isinstance(found, Mapping) and isinstance(found.get("type"), str) and "streams" not in found
