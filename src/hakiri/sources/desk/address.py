"""Where a desk is, in a form that may stand in a plan."""

from __future__ import annotations

import socket
from dataclasses import dataclass

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskAddress:
    """A Unix socket, or a host and port with the key that opens it for turns."""

    path: str | None = None
    host: str = ""
    port: int = 0
    key: str = ""

    @property
    def is_local(self) -> bool:
        return self.path is not None

    def connect(self) -> socket.socket:
        """A connection to the desk; raises OSError."""
        if self.path is None:
            return socket.create_connection((self.host, self.port), CONNECT_SECONDS)
        there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            there.connect(self.path)
        except OSError:
            there.close()
            raise
        return there

    def __str__(self) -> str:
        return self.path if self.path is not None else f"{self.host}:{self.port}"
