"""The bytes of a file as Arrow reads them: unpacked, and in UTF-8 whatever they are on disk."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import pyarrow as pa

from hakiri.core.errors import Place
from hakiri.sources.errors import UnreadableFile
from hakiri.sources.files.listing import FoundFile, unreadable

BOM = b"\xef\xbb\xbf"
PIECE = 1024 * 1024
# What Unicode promises never to be a character.
NO_CHARACTER = "\U0010ffff"


@contextmanager
def opened(file: FoundFile) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The unpacked bytes, and the file itself, whose position tells how much of it was read.

    Raises UnreadableFile for what goes wrong in the block with the system or with the packing.
    """
    try:
        with open(file.path, "rb") as raw:
            if file.compression is None:
                yield raw, raw
            else:
                with pa.input_stream(raw, compression=file.compression) as unpacked:
                    yield cast("BinaryIO", unpacked), raw
    except OSError as error:
        # Arrow has its own errors for bad packing, which are OSErrors without a number.
        if error.errno is None:
            raise UnreadableFile(
                file.name, f"it is no whole {file.compression} file", Place(file.name)
            ) from error
        raise unreadable(file, error) from error


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it is asked of decoders alone
    return NO_CHARACTER * (error.end - error.start), error.end


codecs.register_error("hakiri-marked", _marked)


class TextBytes(io.RawIOBase):
    """The text of a file as UTF-8, which also knows how it ended.

    A byte that is no text is NO_CHARACTER, or with `is_replaced` U+FFFD. `has_marks` tells whether there was
    any of the first as far as it was read.
    """

    def __init__(self, stream: BinaryIO, *, encoding: str, is_replaced: bool) -> None:
        errors = "replace" if is_replaced else "hakiri-marked"
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._is_utf8 = encoding == "utf-8" and not is_replaced
        self.has_marks = False
        self._stream = stream
        self._rest = b""
        self._is_at_end = False
        self.last_byte = b""  # but for line ends
        self.bytes_given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while not self._rest and not self._is_at_end:
            piece = self._stream.read(len(view))
            self._is_at_end = not piece
            self._rest = piece = self._as_utf8(piece)
            self.last_byte = piece[-64:].rstrip(b"\r\n")[-1:] or self.last_byte
        taken = self._rest[: len(view)]
        view[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        self.bytes_given += len(taken)
        return len(taken)

    def _as_utf8(self, piece: bytes) -> bytes:
        before, _ = self._decoder.getstate()
        text = self._decoder.decode(piece, final=self._is_at_end)
        # Costs nothing for texts without characters beyond 16 bits.
        is_marked = NO_CHARACTER in text
        self.has_marks = self.has_marks or is_marked
        if is_marked or not self._is_utf8:
            return text.encode()
        # As it was, but for half a character at either end.
        after, _ = self._decoder.getstate()
        return (before + piece)[: len(before) + len(piece) - len(after)]


def share_of(size: int, total: int, most_bytes: int) -> int | None:
    """How many bytes of a file are looked at, as they are on disk; None for all.

    Of more than `most_bytes` in all files together, each is looked at in proportion to its size, and at least
    as far as one piece of reading goes.
    """
    return None if total <= most_bytes else size * most_bytes // total


def position(raw: BinaryIO) -> int:
    return os.lseek(raw.fileno(), 0, os.SEEK_CUR)
