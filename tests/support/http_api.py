"""A real HTTP server on loopback that answers as it is told, and remembers who asked for what, and when."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from hakiri.sources.errors import (
    AuthExpired,
    PermanentFailure,
    RateLimited,
    ReadFailed,
    TransientFailure,
)

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it arrived. Names of headers are in lower case; `at` is the monotonic clock's."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def params(self) -> dict[str, str]:
        """The query where each name has one value."""
        return {name: values[-1] for name, values in self.query.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. `body` is bytes as they are, or anything else as JSON.

    With `cut_after` the connection ends after so many bytes of the body, of which more were promised.
    """

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Answerer: TypeAlias = Callable[[Call], Reply]


def not_found(call: Call) -> Reply:
    return Reply(status=404, body={"message": f"there is no {call.path}"})


class HttpApi:
    """Serves while the block runs.

    What `script` was given is answered first, in its order, and then whatever `answer` says. `calls` are all
    requests so far.
    """

    def __init__(self, answer: Answerer = not_found) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self._script: deque[Reply | Answerer] = deque()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._server = _Server((HOST, 0), _Handler)
        self._server.api = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def script(self, *replies: Reply | Answerer) -> None:
        """Answer the next requests with these, in this order."""
        with self._lock:
            self._script.extend(replies)

    def paths(self) -> list[str]:
        """The paths that were asked for, in their order."""
        return [call.path for call in self.calls]

    def __enter__(self) -> HttpApi:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        with self._lock:
            left = list(self._connections)
        for connection in left:
            # A client that keeps its connection open would keep its thread here waiting for more.
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._server.server_close()

    def reply_to(self, call: Call) -> Reply:
        with self._lock:
            self.calls.append(call)
            scripted = self._script.popleft() if self._script else None
        if isinstance(scripted, Reply):
            return scripted
        return (scripted or self.answer)(call)

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)


def breakage(api: HttpApi, reply: Reply) -> Callable[[], AbstractContextManager[None]]:
    """Blocks while which the API answers everything with this."""

    @contextmanager
    def broken() -> Iterator[None]:
        whole, api.answer = api.answer, lambda call: reply
        try:
            yield
        finally:
            api.answer = whole

    return broken


def http_breakages(
    api: HttpApi, secret: str
) -> dict[type[ReadFailed], Callable[[], AbstractContextManager[None]]]:
    """The ways in which an API refuses, by the error that each is; some repeat the caller's secret."""
    return {
        TransientFailure: breakage(api, Reply(status=500, body={"message": f"no {secret}"})),
        RateLimited: breakage(api, Reply(status=429, headers={"retry-after": "3600"})),
        AuthExpired: breakage(api, Reply(status=401, body={"error": f"bad {secret}"})),
        PermanentFailure: breakage(api, Reply(status=404, body={})),
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 64
    api: HttpApi


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.api.opened(self.connection)

    def finish(self) -> None:
        self.server.api.closed(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Tests look at `calls`."""

    def _answer(self) -> None:
        arrived_at = time.monotonic()
        parts = urlsplit(self.path)
        call = Call(
            method=self.command,
            path=parts.path,
            query={
                name: tuple(values) for name, values in parse_qs(parts.query, keep_blank_values=True).items()
            },
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("content-length", 0))),
            at=arrived_at,
        )
        self._send(self.server.api.reply_to(call))

    def _send(self, reply: Reply) -> None:
        content = b"" if reply.status == 304 else reply.content()
        self.send_response_only(reply.status)
        given = {
            "date": self.date_time_string(),
            "content-type": "application/json",
            "content-length": str(len(content)),
            **reply.headers,
        }
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.cut_after is None:
            self.wfile.write(content)
        else:
            self.wfile.write(content[: reply.cut_after])
            self.close_connection = True
