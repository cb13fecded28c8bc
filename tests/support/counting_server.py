"""An HTTP server on loopback that notes when every call arrived."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CountingServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        self.arrivals: list[float] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def most_in_a_window(self, seconds: float) -> int:
        """How many calls the fullest window of this length held."""
        times = sorted(self.arrivals)
        return max(sum(1 for at in times if start <= at < start + seconds) for start in times)


class _Handler(BaseHTTPRequestHandler):
    server: CountingServer

    def do_GET(self) -> None:
        self.server.arrivals.append(time.monotonic())
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None: ...


@contextmanager
def counting_server() -> Iterator[CountingServer]:
    with CountingServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
