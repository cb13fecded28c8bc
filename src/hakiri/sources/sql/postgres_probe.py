"""Why a Postgres did not let us in: what libpq tells of that is words alone, and the server says it in codes.

Sends what begins every session (the protocol's "Start-up"), without a password, and reads the answer.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit

_PROTOCOL = 3 << 16
_SECONDS = 5.0
_MOST_BYTES = 65_536
_DEFAULT_PORT = "5432"
_ERROR, _AUTHENTICATION, _READY = b"E", b"R", b"Z"
_CODE_FIELD = b"C"
WANTS_CREDENTIALS = "28000"
WELCOME = "00000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    host: str
    port: str
    user: str
    database: str


def server_of(url: str) -> Server:
    """The first server of a connection URL."""
    parts = urlsplit(url)
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    user = options.get("user") or unquote(parts.username or "")
    place = parts.netloc.rpartition("@")[2].partition(",")[0]
    host, _, port = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "")
    return first_server(
        host=options.get("host") or unquote(host.strip("[]")),
        port=options.get("port") or port,
        user=user,
        database=options.get("dbname") or unquote(parts.path.removeprefix("/")),
    )


def first_server(*, host: str, port: str, user: str, database: str) -> Server:
    """The first of several hosts with its port; what is empty is what libpq takes then."""
    return Server(
        host=(host or "localhost").partition(",")[0],
        port=(port or _DEFAULT_PORT).partition(",")[0],
        user=user,
        database=database or user,
    )


def answer_of(server: Server) -> str | None:
    """The SQLSTATE with which the server turns us away, WANTS_CREDENTIALS if it asks for some, WELCOME if it
    takes us in; None if nobody answers."""
    try:
        with _connected(server) as connection, connection.makefile("rb") as answers:
            connection.sendall(_start_up(server))
            return next(_states(answers), None)
    except OSError:
        return None


def _connected(server: Server) -> socket.socket:
    if server.host.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_SECONDS)
        connection.connect(f"{server.host}/.s.PGSQL.{server.port}")
        return connection
    return socket.create_connection((server.host, int(server.port)), timeout=_SECONDS)


def _start_up(server: Server) -> bytes:
    pairs = ("user", server.user, "database", server.database)
    body = struct.pack("!i", _PROTOCOL) + b"".join(part.encode() + b"\0" for part in pairs) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _states(answers: BinaryIO) -> Iterator[str]:
    while len(head := answers.read(5)) == 5:  # noqa: PLR2004 - a kind and a length
        kind, length = head[:1], struct.unpack("!i", head[1:])[0] - 4
        body = answers.read(min(max(length, 0), _MOST_BYTES))
        if kind == _ERROR:
            fields = {part[:1]: part[1:].decode("ascii", "replace") for part in body.split(b"\0") if part}
            yield fields.get(_CODE_FIELD, "")
        elif kind == _AUTHENTICATION and any(body[:4]):
            yield WANTS_CREDENTIALS
        elif kind == _READY:
            yield WELCOME
