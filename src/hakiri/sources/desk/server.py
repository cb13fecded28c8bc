"""The desk: a small server in the process that runs a pipeline."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from hakiri.core.errors import HakiriError
from hakiri.core.ids import fresh_token
from hakiri.core.secrets import Secret
from hakiri.sources.budget import SharedBudget
from hakiri.sources.desk.address import DeskAddress

_BACKLOG = 128
_LONGEST_LINE = 65_536


class Desk:
    """Serves tasks while the block runs: turns of the named budgets, and the secrets it was given.

    With `advertised`, it listens on every interface and tells tasks to come to that host; such a desk gives
    out no secrets. Without, it listens on a Unix socket.
    """

    def __init__(
        self,
        *,
        budgets: Mapping[str, SharedBudget],
        secrets: Mapping[str, Secret],
        advertised: str | None = None,
    ) -> None:
        self._budgets = dict(budgets)
        self._secrets = dict(secrets) if advertised is None else {}
        self._advertised = advertised
        self._folder: Path | None = None
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.address = DeskAddress()
        # Told of the rows that a task has read so far, by the label of its read, from a thread of the desk.
        self.on_rows: Callable[[str, int], None] | None = None

    def __enter__(self) -> Desk:
        if self._advertised is None:
            # Only its owner can enter a folder that mkdtemp makes, so only they can reach the socket.
            self._folder = Path(tempfile.mkdtemp(prefix="hakiri-"))
            path = str(self._folder / "desk")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(path)
            self.address = DeskAddress(path=path)
        else:
            listener = socket.create_server(("", 0), backlog=_BACKLOG)
            self.address = DeskAddress(
                host=self._advertised, port=listener.getsockname()[1], key=fresh_token()
            )
        listener.listen(_BACKLOG)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="hakiri-desk", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
            connections = list(self._open)
        for each in [listener, *connections]:
            if each is not None:
                _hang_up(each)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the block has ended
            with self._lock:
                if self._listener is None:
                    _hang_up(connection)
                    return
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _rows(self, label: str, rows: int) -> None:
        if self.on_rows is not None:
            self.on_rows(label, rows)

    def _serve(self, connection: socket.socket) -> None:
        visit = _Visit(self._budgets, self._secrets, self.address.key, self._rows)
        try:
            with (
                suppress(OSError),  # a lost task wants no answer
                suppress(HakiriError),  # one that gets no turn finds that its line has ended
                connection.makefile("rwb") as stream,
            ):
                while line := stream.readline(_LONGEST_LINE):
                    answer = visit.answer(line)
                    if answer is None:
                        break
                    stream.write(json.dumps(answer).encode() + b"\n")
                    stream.flush()
        finally:
            visit.leave()
            with self._lock:
                self._open.discard(connection)
            _hang_up(connection)


class _Visit:
    """One connection: says its key first, then asks."""

    def __init__(
        self,
        budgets: Mapping[str, SharedBudget],
        secrets: Mapping[str, Secret],
        key: str,
        on_rows: Callable[[str, int], None],
    ) -> None:
        self._on_rows = on_rows
        self._budgets = budgets
        self._secrets = secrets
        self._key = key
        self._is_known = key == ""
        self._turn: SharedBudget | None = None

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """What to say to this line; None is to hang up."""
        try:
            question = json.loads(line)
        except ValueError:
            return None
        match question:
            case {"key": str(key)} if key == self._key:
                self._is_known = True
                return {"welcome": True}
            case {"answered": True} if self._turn is not None:
                self.leave()
                return {"answered": True}
            case _ if self._is_known:
                return self._served(question)
        return None

    def _served(self, question: object) -> dict[str, Any] | None:
        """What only those get who said the key."""
        match question:
            case {"turn": str(name)} if name in self._budgets and self._turn is None:
                budget = self._budgets[name]
                budget.take()
                self._turn = budget
                return {"turn": name}
            case {"rows": int(rows), "of": str(label)}:
                self._on_rows(label, rows)
                return {"rows": rows}
            case {"secrets": [*names]} if all(name in self._secrets for name in names):
                return {"secrets": {name: self._secrets[name].reveal() for name in names}}
        return None

    def leave(self) -> None:
        """Give back the turn of a task that has ended or died."""
        if self._turn is not None:
            budget, self._turn = self._turn, None
            budget.give_back()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it may be gone already
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
