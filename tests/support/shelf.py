"""A small HTTP source on loopback that keeps books, and an honest connector to it in the plain way."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pyarrow as pa
from pydantic import Field

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.sources.config import SecretTemplate, SourceConfig
from hakiri.sources.contract import EXTRA_COLUMN, Batch, Connector, Extent, Hint, Read, Table
from hakiri.sources.errors import AuthExpired, PermanentFailure, RateLimited, ReadFailed, TransientFailure
from hakiri.sources.testing import Subject, maker

TOKEN = "marker/of+the secret"
PAGE = 3
T0 = datetime(2026, 5, 11, 8, 0, tzinfo=UTC)
REGIONS = ("north", "south")
MOMENT = pa.timestamp("us", tz="UTC")
TABLES = {
    table.name: table
    for table in (
        Table(
            name="loans",
            schema=pa.schema({"id": pa.int64(), "at": MOMENT, "reader": pa.string()}),
            primary_key=("id",),
            cursor_fields=("at",),
        ),
        Table(
            name="visits",
            schema=pa.schema({"id": pa.int64(), "region": pa.string()}),
            primary_key=("id",),
            cursor_fields=("id",),
        ),
        Table(name="notes", schema=pa.schema({"text": pa.string()})),
        Table(
            name="books",
            schema=pa.schema({"isbn": pa.string(), "title": pa.string(), EXTRA_COLUMN: pa.string()}),
            primary_key=("isbn",),
            is_open=True,
        ),
        Table(name="fines", schema=pa.schema({"id": pa.int64()}), primary_key=("id",)),
    )
}


def row(table: str, number: int) -> dict[str, Any]:
    """The row of this number, in JSON's types. Some have no moment, and notes repeat themselves."""
    if table == "loans":
        at = None if number % 4 == 3 else (T0 + timedelta(days=number // 2)).isoformat()
        return {"id": number, "at": at, "reader": f"reader {number}"}
    if table == "visits":
        return {"id": number, "region": REGIONS[number % 2]}
    if table == "notes":
        return {"text": f"note {number // 2}"}
    if table == "books":
        return {"isbn": f"isbn-{number}", "title": f"title {number}"} | ({"pages": 7} if number % 2 else {})
    return {"id": number}


class ShelfServer(ThreadingHTTPServer):
    """Serves rows by their place, counts its calls, and fails in the way that `mood` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        sizes = {"loans": 8, "visits": 7, "notes": 8, "books": 7, "fines": 0}
        self.rows = {name: [row(name, number) for number in range(size)] for name, size in sizes.items()}
        self.mood = 200
        self.calls = 0
        self.lock = threading.Lock()

    def grow(self, table: str) -> int:
        known = self.rows[table]
        known += [row(table, number) for number in range(len(known), len(known) + 2)]
        return 2

    @contextmanager
    def answering(self, status: int) -> Iterator[None]:
        self.mood = status
        try:
            yield
        finally:
            self.mood = 200

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[ShelfServer]:
        server = cls()
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()
            server.server_close()


class _Answer(BaseHTTPRequestHandler):
    server: ShelfServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together: apart, the second waits for the first to be acknowledged

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.calls += 1
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self._answer(401, {})
        if self.server.mood != 200:
            return self._answer(self.server.mood, {})
        url = urlsplit(self.path)
        table = url.path.strip("/")
        if not table:
            return self._answer(200, {name: len(rows) for name, rows in self.server.rows.items()})
        if table not in self.server.rows:
            return self._answer(404, {})
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        return self._answer(200, self._page(table, asked))

    def _page(self, table: str, asked: Mapping[str, str]) -> dict[str, Any]:
        start = int(asked.get("after", 0))
        upto = int(asked["upto"]) if "upto" in asked else None
        placed = list(enumerate(self.server.rows[table], start=1))[start:upto]
        wanted = [
            (place, each)
            for place, each in placed
            if asked.get("region", each.get("region")) == each.get("region")
        ]
        size = int(asked.get("size", PAGE))
        return {"rows": wanted[:size], "has_more": len(wanted) > size}

    def _answer(self, status: int, body: Mapping[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "7")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None: ...


class ShelfConfig(SourceConfig):
    port: int = Field(description="Where the shelf listens.", examples=[8080])
    token: SecretTemplate = Field(description="What opens it.", examples=["${SHELF_TOKEN}"])


class ShelfConnector(Connector):
    """Keeps every promise. Broken ones are made by overriding a part of it."""

    Config = ShelfConfig
    summary = "a shelf on loopback"
    config: ShelfConfig

    def __init__(self, config: ShelfConfig, context: Any) -> None:
        super().__init__(config, context)
        self.connection: http.client.HTTPConnection | None = None

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        known = self.get("/")
        for name in only or ():
            if name not in known:
                raise PermanentFailure(f"the shelf has no table `{name}`", hint="see `hakiri source tables`")
        return [table for name, table in TABLES.items() if only is None or name in only]

    def open(self, read: Read) -> Iterator[Batch]:
        if read.table not in TABLES:
            raise PermanentFailure(f"the shelf has no table `{read.table}`")
        place, given, has_more = int((read.cursor or {}).get("after", 0)), 0, True
        while has_more and (read.limit is None or given < read.limit):
            page = self.get(f"/{read.table}?{urlencode(self.asked(read, place))}")
            has_more = page["has_more"]
            if page["rows"]:
                place = page["rows"][-1][0]
                rows = [each for _, each in page["rows"] if self.is_inside(read, each)]
                given += len(rows)
                yield Batch(rows=self.batch(read, rows), cursor=self.cursor(page))

    def asked(self, read: Read, place: int) -> dict[str, Any]:
        snapshot = {"upto": json.loads(read.snapshot)[read.table]} if read.snapshot is not None else {}
        return {"after": place, **read.partition, **snapshot}

    def cursor(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"after": page["rows"][-1][0]}

    def is_inside(self, read: Read, each: Mapping[str, Any]) -> bool:
        window = read.window
        if window is None:
            return True
        value = each[window.field]
        if value is None:
            return window.has_nulls
        return (window.since is None or window.since <= value) and (
            window.until is None or value < window.until
        )

    def batch(self, read: Read, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        schema = read.schema or TABLES[read.table].schema
        return pa.RecordBatch.from_pylist([self.settled(each, schema) for each in rows], schema=schema)

    def settled(self, each: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
        made = {
            name: datetime.fromisoformat(value) if name == "at" and value else value
            for name, value in each.items()
        }
        rest = {name: value for name, value in each.items() if name not in schema.names}
        return made | ({EXTRA_COLUMN: json.dumps(rest)} if rest else {})

    def backfill_hint(self, table: str) -> Hint:
        if table == "loans":
            return Hint(
                cursor_kind=CursorKind.MONOTONIC,
                cursor_field="at",
                natural_window=Duration.parse("30d"),
                rate_budget=Rate.parse("60/min"),
            )
        if table == "visits":
            return Hint(cursor_kind=CursorKind.PARTITIONED_MONOTONIC, partition_keys=("region",))
        return Hint()

    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        return [{"region": region} for region in REGIONS] if table == "visits" else [{}]

    def extent(self, table: str, column: str) -> Extent:
        if column == "at":
            return Extent(lowest=T0.isoformat(), has_nulls=True, rows=self.get("/")[table])
        return Extent(lowest=0, has_nulls=False)

    @contextmanager
    def still(self) -> Iterator[str | None]:
        yield json.dumps(self.get("/"))

    def check(self) -> str:
        return f"{len(self.get('/'))} tables on the shelf"

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def get(self, path: str) -> Any:
        with self.context.budget.turn():
            status, wait, body = self.call(path)
        if status != 200:
            raise self.failure(status, wait)
        return json.loads(body)

    def call(self, path: str) -> tuple[int, float, bytes]:
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.config.port, timeout=5)
        token = self.config.token.fill(self.context.secrets)
        try:
            self.connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = self.connection.getresponse()
            return answer.status, float(answer.headers.get("Retry-After", 0)), answer.read()
        except OSError as error:
            self.close()
            raise TransientFailure(f"the shelf does not answer: {error}") from None

    def failure(self, status: int, wait: float) -> ReadFailed:
        if status == 401:
            return AuthExpired("the shelf does not know this token")
        if status == 429:
            return RateLimited("the shelf is busy", seconds=wait)
        if status >= 500:
            return TransientFailure(f"the shelf answered with {status}")
        return PermanentFailure(f"the shelf answered with {status}")


def shelf_subject(server: ShelfServer, connector: type[Connector] = ShelfConnector, **given: Any) -> Subject:
    """The shelf as the suite wants it."""
    config = {"port": server.server_port, "token": "${SHELF_TOKEN}"}
    return Subject(
        **{
            "make": maker(connector, config, secrets=("SHELF_TOKEN",)),
            "rows": {name: len(rows) for name, rows in server.rows.items()},
            "secrets": {"SHELF_TOKEN": TOKEN},
            "grow": server.grow,
            "calls": lambda: server.calls,
            "most_rows": PAGE,
            "breakages": {
                AuthExpired: lambda: server.answering(401),
                RateLimited: lambda: server.answering(429),
                TransientFailure: lambda: server.answering(503),
            },
        }
        | given
    )
