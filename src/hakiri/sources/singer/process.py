"""A tap as a process: its lines as they come, its log apart from them, and its end in every case."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hakiri.sources.errors import PermanentFailure, TransientFailure
from hakiri.sources.singer.leash import SIGNALLED

LEASH = Path(__file__).with_name("leash.py")
# What is read at once, which is also what a pipe may hold: a tap is never further ahead of its reader.
CHUNK_BYTES = 1 << 20
LOG_LINES = 20
LOG_LINE_LETTERS = 300
LONGEST_LOG_LINE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run, and in which surroundings. `environment` is all that the tap sees of variables.

    `silence` is how long it may write nothing at all, in words and in seconds.
    """

    name: str
    arguments: tuple[str, ...]
    folder: Path
    working_folder: Path
    environment: Mapping[str, str]
    silence: str
    silence_seconds: float
    most_line_bytes: int


class TapRun:
    """One run of a tap. Leaving the block ends it, with every process that it has started.

    Nothing is read while nobody asks for a line, so a tap is held up by a reader that is slower than it.
    """

    def __init__(
        self, command: Command, mask: Callable[[str], str], on_log: Callable[[str], None] | None = None
    ) -> None:
        self._command = command
        self._log = _Tail(mask, on_log)
        self._buffer = bytearray()
        # Whether everything that the tap has written to stdout was taken.
        self.has_all = False
        self._process = _started(command)
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        assert self._process.stderr is not None  # noqa: S101
        self._out, self._err = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self._out, selectors.EVENT_READ)
        self._waiting.register(self._err, selectors.EVENT_READ)

    def __enter__(self) -> TapRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the tap, if it still runs; nothing of it is left when this returns."""
        self._waiting.close()
        for stream in (self._process.stdout, self._process.stderr, self._process.stdin):
            if stream is not None:
                stream.close()
        # The leash ends the tap when stdin is closed, by force if need be.
        self._process.wait()

    def wait_for_output(self) -> None:
        """Return when the tap has written something, or has ended."""
        while not self._buffer and not self.has_all:
            self._take_some()

    def lines(self) -> Iterator[bytes]:
        """What the tap writes, line by line, without the ends of lines. Raises as `code` does."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                # All whole lines at once, since taking the first off a long buffer moves the whole of it.
                whole = bytes(self._buffer[: self._buffer.rindex(b"\n")])
                del self._buffer[: len(whole) + 1]
                searched = 0
                yield from whole.split(b"\n")
                continue
            searched = len(self._buffer)
            if searched > self._command.most_line_bytes:
                raise PermanentFailure(
                    f"the tap `{self._command.name}` writes a line of more than "
                    f"{self._command.most_line_bytes >> 20} MiB",
                    hint="leave out the property that is so large, with `select`",
                )
            if self.has_all:
                break
            self._take_some()
        if self._buffer:
            last = bytes(self._buffer)
            self._buffer.clear()
            yield last

    def code(self) -> int:
        """The exit code of the tap, once it has ended; what it still writes is read and forgotten.

        Raises TransientFailure if it does not end, and says nothing for too long.
        """
        while self._waiting.get_map():
            self._take_some()
            self._buffer.clear()
        code = self._process.wait()
        return SIGNALLED - code if code < 0 else code  # the leash itself was killed, and the tap with it

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines of what the tap wrote to stderr, without any secret."""
        return tuple(self._log.lines)

    def _take_some(self) -> None:
        ready = self._waiting.select(self._command.silence_seconds)
        if not ready:
            raise TransientFailure(
                f"the tap `{self._command.name}` gave no sign of life for {self._command.silence}",
                hint="write a longer `timeout`, if it needs more time between two lines",
            )
        for key, _ in ready:
            descriptor = key.fd
            some = os.read(descriptor, CHUNK_BYTES)
            if not some:
                self._waiting.unregister(descriptor)
                if descriptor == self._out:
                    self.has_all = True
                else:
                    self._log.finish()
            elif descriptor == self._out:
                self._buffer += some
            else:
                self._log.add(some)


def _started(command: Command) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(LEASH), str(command.folder), *command.arguments],
            cwd=command.working_folder,
            env=dict(command.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us, and we end the tap
        )
    except OSError as error:
        problem = (error.strerror or "").lower()
        raise TransientFailure(f"the tap `{command.name}` cannot be started: {problem}") from error


class _Tail:
    """The last lines of a stream, masked, in bounded memory."""

    def __init__(self, mask: Callable[[str], str], on_log: Callable[[str], None] | None) -> None:
        self.lines: deque[str] = deque(maxlen=LOG_LINES)
        self._mask = mask
        self._on_log = on_log
        self._last = b""

    def add(self, some: bytes) -> None:
        *whole, self._last = (self._last + some).split(b"\n")
        if len(self._last) > LONGEST_LOG_LINE_BYTES:
            # Cut somewhere, it might show half of a secret.
            whole, self._last = [*whole, b"(a line that is too long to be kept)"], b""
        self._keep(whole)

    def finish(self) -> None:
        """There is no more: the last line needs no end."""
        self._keep([self._last])
        self._last = b""

    def _keep(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            text = " ".join(self._mask(line.decode(errors="replace")).split())
            if not text:
                continue
            if self._on_log is not None:
                self._on_log(text)
            self.lines.append(text if len(text) <= LOG_LINE_LETTERS else text[: LOG_LINE_LETTERS - 1] + "…")
