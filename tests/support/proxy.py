"""A network that fails on order: a proxy between Postgres clients and their server."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

HOST = "127.0.0.1"
CHUNK_BYTES = 65_536
WAIT_SECONDS = 10.0
# With the first, `close` throws away what was not yet sent and tells the other side by an RST.
RESET_ON_CLOSE, PLAIN_CLOSE = struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)

# The parts of Postgres' protocol that matter here (its documentation: "Message Formats").
ENCRYPTION_REQUESTS = (struct.pack("!II", 8, 80877103), struct.pack("!II", 8, 80877104))
NO_ENCRYPTION = b"N"
UNTYPED, QUERY, SYNC, FUNCTION_CALL = b"", b"Q", b"S", b"F"
# To each of these the server says "ready for query" once, when it has done all that was asked before.
ENDS_A_REQUEST = frozenset({UNTYPED, QUERY, SYNC, FUNCTION_CALL})
READY_FOR_QUERY = b"Z"

Side = Literal["client", "server"]


class Reset(Exception):
    """A fault ends the connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    kind: bytes
    data: bytes


class Messages:
    """Cuts one direction of a connection into whole messages: a kind of one byte, a length, a body.

    The first message of a client has no kind.
    """

    def __init__(self, sender: Side) -> None:
        self.rest = bytearray()
        self._kind_bytes = 0 if sender == "client" else 1

    def cut(self, chunk: bytes) -> list[Message]:
        """The messages that are complete with this chunk; what remains waits in `rest`."""
        self.rest += chunk
        messages, start = [], 0
        while (end := self._end(start)) <= len(self.rest):
            kind, data = self.rest[start : start + self._kind_bytes], self.rest[start:end]
            messages.append(Message(kind=bytes(kind), data=bytes(data)))
            if data not in ENCRYPTION_REQUESTS:  # after one of those comes another first message
                self._kind_bytes = 1
            start = end
        del self.rest[:start]
        return messages

    def _end(self, start: int) -> int:
        """Where the message ends that starts here, or at least the part of it that tells."""
        length_at = start + self._kind_bytes
        if length_at + 4 > len(self.rest):
            return length_at + 4
        return length_at + int.from_bytes(self.rest[length_at : length_at + 4], "big")


@dataclass(slots=True, kw_only=True)
class MarkedFault:
    """A fault that waits for a client's message with certain bytes in it."""

    marker: bytes
    is_forwarded: bool
    times_left: int


@dataclass(slots=True)
class Faults:
    """What is to go wrong. Only the thread of the connections touches it."""

    delay_seconds: float = 0.0
    is_dropping: bool = False
    marked: list[MarkedFault] = field(default_factory=list)
    bytes_left: dict[Side, int] = field(default_factory=dict)
    healed: asyncio.Event = field(default_factory=asyncio.Event)

    def heal(self) -> None:
        self.delay_seconds = 0.0
        self.is_dropping = False
        self.marked.clear()
        self.bytes_left.clear()
        self.healed.set()
        self.healed = asyncio.Event()

    async def wait_delay(self) -> None:
        if self.delay_seconds:
            with suppress(TimeoutError):  # the delay is over
                async with asyncio.timeout(self.delay_seconds):
                    await self.healed.wait()

    def take_marked(self, message: Message) -> MarkedFault | None:
        """The fault that this message sets off, which then has one time less to go."""
        for fault in self.marked:
            if fault.times_left and fault.marker in message.data:
                fault.times_left -= 1
                return fault
        return None

    def count_down(self, sender: Side, data: bytes) -> tuple[bytes, bool]:
        """What may pass of these bytes, and whether the connection is to be reset after them."""
        left = self.bytes_left.pop(sender, None)
        if left is None:
            return data, False
        if left > len(data):
            self.bytes_left[sender] = left - len(data)
            return data, False
        return data[:left], True


@dataclass(slots=True, kw_only=True)
class Connection:
    """A client and the server, and how far their talk has got."""

    client: socket.socket
    server: socket.socket
    faults: Faults
    unanswered: int = 0
    is_swallowing: bool = False
    is_swallowed_sent: bool = False

    async def carry(self) -> None:
        """Carry messages until both sides have ended. A fault raises Reset, in a group."""
        async with asyncio.TaskGroup() as directions:
            directions.create_task(self._carry_to_server())
            directions.create_task(self._carry_to_client())

    async def _carry_to_server(self) -> None:
        messages = Messages("client")
        while chunk := await self._receive(self.client):
            for message in messages.cut(chunk):
                if message.data in ENCRYPTION_REQUESTS:
                    await _send(self.client, NO_ENCRYPTION)
                    continue
                self._note_request(message)
                await self._pass_on("client", self.server, message.data)
                if self.is_swallowed_sent:
                    return  # nothing that comes after it may reach the server
        self.server.shutdown(socket.SHUT_WR)

    async def _carry_to_client(self) -> None:
        messages = Messages("server")
        while chunk := await self._receive(self.server):
            passing = [message.data for message in messages.cut(chunk) if self._may_pass(message)]
            if passing:
                await self._pass_on("server", self.client, b"".join(passing))
        if self.is_swallowing:
            raise Reset
        await _send(self.client, messages.rest)
        self.client.shutdown(socket.SHUT_WR)

    def _note_request(self, message: Message) -> None:
        if fault := self.faults.take_marked(message):
            if not fault.is_forwarded:
                raise Reset
            self.is_swallowing = True
        if message.kind in ENDS_A_REQUEST:
            self.unanswered += 1
            self.is_swallowed_sent = self.is_swallowing

    def _may_pass(self, message: Message) -> bool:
        if message.kind == READY_FOR_QUERY:
            self.unanswered -= 1
        if self.is_swallowed_sent and not self.unanswered:
            raise Reset
        return not self.is_swallowing

    async def _receive(self, side: socket.socket) -> bytes:
        chunk = await asyncio.get_running_loop().sock_recv(side, CHUNK_BYTES)
        await self.faults.wait_delay()
        return chunk

    async def _pass_on(self, sender: Side, receiver: socket.socket, data: bytes) -> None:
        passing, is_last = self.faults.count_down(sender, data)
        await _send(receiver, passing)
        if is_last:
            raise Reset


class FaultyProxy:
    """Passes on what Postgres clients and their server say to each other, until told to fail.

    A client connects to `address`, without encryption. Faults may be set at any time and from any thread,
    and hold when the call returns. They add up; `heal` takes all of them away. A connection that is reset is
    reset on both sides.

    It works in a thread, so a client in the same process must let go of the interpreter while it waits:
    psycopg does, except in the raw calls of `connection.pgconn`.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.connections = 0  # that clients made, the refused ones included
        self.faults_fired = 0  # connections that were reset on order
        self._target = target
        self._faults = Faults()
        self._open: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()

    def __enter__(self) -> FaultyProxy:
        self._listener = socket.create_server((HOST, 0))
        self._listener.setblocking(False)
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(ready)), name="faulty-proxy", daemon=True
        )
        self._thread.start()
        self._loop = ready.result(WAIT_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(WAIT_SECONDS)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()
        return host, port

    def delay(self, seconds: float) -> None:
        """Let everything wait this long, in both directions."""

        async def set_delay() -> None:
            self._faults.delay_seconds = seconds

        self._do(set_delay())

    def drop_all(self) -> None:
        """Reset every connection, and every new one at once, until healed."""

        async def drop() -> None:
            self._faults.is_dropping = True
            self.faults_fired += len(self._open)
            await _cancel(self._open)

        self._do(drop())

    def reset_after(
        self, *, bytes_from_server: int | None = None, bytes_from_client: int | None = None
    ) -> None:
        """Reset, once, the connection that carries the last of so many bytes, counted from now over all
        connections; that byte and those before it are passed on. 0 passes on nothing of what comes next."""
        if (bytes_from_server is None) == (bytes_from_client is None):
            raise ValueError("give one of `bytes_from_server` and `bytes_from_client`")

        async def set_limit() -> None:
            if bytes_from_server is not None:
                self._faults.bytes_left["server"] = bytes_from_server
            if bytes_from_client is not None:
                self._faults.bytes_left["client"] = bytes_from_client

        self._do(set_limit())

    def swallow_answer_of(self, marker: bytes, times: int = 1) -> None:
        """Pass a client's message with these bytes on, wait until the server has done what it asks and says
        so, keep that from the client, and reset the connection. To the client it may or may not be done."""
        self._do(self._add_marked(MarkedFault(marker=marker, is_forwarded=True, times_left=times)))

    def drop_before(self, marker: bytes, times: int = 1) -> None:
        """Do not pass a client's message with these bytes on, but reset the connection."""
        self._do(self._add_marked(MarkedFault(marker=marker, is_forwarded=False, times_left=times)))

    def heal(self) -> None:
        """Take all faults away. A message whose answer is being swallowed is lost nevertheless."""

        async def heal() -> None:
            self._faults.heal()

        self._do(heal())

    def _do(self, change: Coroutine[None, None, None]) -> None:
        """Make a change in the thread of the connections, and wait until it is made."""
        asyncio.run_coroutine_threadsafe(change, self._loop).result(WAIT_SECONDS)

    async def _add_marked(self, fault: MarkedFault) -> None:
        self._faults.marked.append(fault)

    async def _run(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        ready.set_result(asyncio.get_running_loop())
        with closing(self._listener):
            async with asyncio.TaskGroup() as tasks:
                accepting = tasks.create_task(self._accept(tasks))
                await self._ended.wait()
                await _cancel({accepting, *self._open})

    async def _accept(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            _prepare(client)
            self.connections += 1
            self._start(tasks, client)

    def _start(self, tasks: asyncio.TaskGroup, client: socket.socket) -> None:
        def forget(task: asyncio.Task[None]) -> None:
            self._open.discard(task)
            client.close()  # here, as a task that is cancelled early never runs

        task = tasks.create_task(self._serve(client))
        self._open.add(task)
        task.add_done_callback(forget)

    async def _serve(self, client: socket.socket) -> None:
        if self._faults.is_dropping:
            self.faults_fired += 1
            return
        with closing(socket.socket()) as server:
            server.setblocking(False)
            _prepare(server)
            try:
                await asyncio.get_running_loop().sock_connect(server, self._target)
                await Connection(client=client, server=server, faults=self._faults).carry()
            except* Reset:
                self.faults_fired += 1
            except* OSError:
                pass  # one side is gone without a word, or was never there: so it is for the other
            else:
                for side in (client, server):
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, PLAIN_CLOSE)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _prepare(side: socket.socket) -> None:
    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


async def _send(receiver: socket.socket, data: bytes | bytearray) -> None:
    await asyncio.get_running_loop().sock_sendall(receiver, data)
