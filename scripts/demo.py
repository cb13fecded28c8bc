"""The demo: three sources, one store. Every command is a real one, and so is what it prints."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "demo"
HAKIRI = str(Path(sys.executable).with_name("hakiri"))
# A server of the demo's own: stopping it at the end must not stop anybody else's.
ENV = dict(os.environ) | {"HAKIRI_RUNTIME_DIR": str(PROJECT / ".hakiri" / "runtime")}
PAGE = 150
CUSTOMERS = 40
TIERS = ("free", "team", "enterprise")
LATE_ORDERS = """\
order_id,customer,country,item,quantity,price,ordered_at,status
9001,customer-007,NZ,desk,2,249.90,2026-03-01T08:00:00Z,paid
9002,customer-008,NZ,notebook,5,4.50,2026-03-01T09:30:00Z,paid
"""
CUSTOMERS_PIPELINE = """\
[[pipeline]]
id = "customers"
source = { connector = "sql", config = { url = "sqlite:///data/crm.db" } }
tables = ["customers"]
incremental = "changed_at"
"""
TICKETS_PIPELINE = """\
[[pipeline]]
id = "tickets"
incremental = "updated_at"

[pipeline.source]
connector = "rest"
config = {{ base_url = "{url}", resources = [
  {{ name = "tickets", primary_key = ["id"], incremental = {{ field = "updated_at", param = "since" }} }},
] }}

[[pipeline.tables]]
name = "tickets"
[pipeline.tables.compaction]
cluster_by = ["customer", "updated_at"]
"""
QUESTION = """\
WITH waiting AS (SELECT customer, count(*) AS open FROM tickets WHERE status = 'open' GROUP BY ALL)
SELECT tier, count(*) AS orders, sum(total) AS spent, count(DISTINCT customer) FILTER (open > 0) AS waiting
FROM orders JOIN customers ON name = customer LEFT JOIN waiting USING (customer)
GROUP BY ALL ORDER BY spent DESC;
"""


def say(text: str) -> None:
    sys.stdout.write(f"\n\x1b[1m{text}\x1b[0m\n" if sys.stdout.isatty() else f"\n# {text}\n")
    sys.stdout.flush()


def shown(line: str) -> None:
    sys.stdout.write(f"$ {line}\n")
    sys.stdout.flush()


def hakiri(*arguments: str) -> None:
    """Run a command as it is shown; the demo ends where one fails."""
    shown(f"hakiri {shlex.join(arguments)}")
    began = time.monotonic()
    done = subprocess.run(
        [HAKIRI, *arguments], cwd=PROJECT if PROJECT.exists() else ROOT, env=ENV, check=False
    )
    if done.returncode != 0:
        sys.exit(done.returncode)
    sys.stdout.write(f"({time.monotonic() - began:.1f} s)\n")
    sys.stdout.flush()


def stock_duckdb(file: str) -> None:
    """Read the store as anybody would who has never heard of Hakiri: with DuckDB, and nothing else."""
    code = f'import duckdb; duckdb.connect(".hakiri/context/demo/duck.db").sql(open("{file}").read()).show()'
    shown(f"python -c {shlex.quote(code)}")
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


def written(file: str, text: str) -> None:
    """A file of the project, as a person would write it."""
    (PROJECT / file).write_text(text)
    shown(f"cat {file}")
    sys.stdout.write(text)
    sys.stdout.flush()


def moment(number: int) -> str:
    return f"2026-02-{1 + number % 28:02d}T{number % 24:02d}:{number % 60:02d}:00Z"


class Helpdesk:
    """An API of this machine's own, with tickets by the page; gone when the demo is."""

    def __init__(self) -> None:
        self.tickets: list[dict[str, object]] = [
            {
                "id": number,
                "customer": f"customer-{number % CUSTOMERS:03d}",
                "subject": f"question {number}",
                "status": "open" if number % 4 == 0 else "closed",
                "updated_at": moment(number),
            }
            for number in range(400)
        ]

    def answer(self, url: str) -> tuple[list[dict[str, object]], str | None]:
        """The tickets that a request is for, and where the next page is."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        since, start = asked.get("since", ""), int(asked.get("start", 0))
        found = sorted(
            (each for each in self.tickets if str(each["updated_at"]) >= since),
            key=lambda each: str(each["updated_at"]),
        )
        following = start + PAGE
        more = f"/tickets?since={since}&start={following}" if following < len(found) else None
        return found[start:following], more

    @contextmanager
    def open(self) -> Iterator[str]:
        desk = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page, more = desk.answer(self.path)
                body = json.dumps(page).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if more is not None:
                    self.send_header("Link", f'<{more}>; rel="next"')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """The demo speaks for itself."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()


def crm(*statements: str) -> None:
    """A database as somebody else's program would write it."""
    connection = sqlite3.connect(PROJECT / "data" / "crm.db")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def make_crm() -> None:
    rows = ", ".join(
        f"({number}, 'customer-{number:03d}', '{TIERS[number % 3]}', '{moment(number)}')"
        for number in range(CUSTOMERS)
    )
    crm(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, tier TEXT, changed_at TIMESTAMP)",
        f"INSERT INTO customers VALUES {rows}",
    )


def time_goes_by(desk: Helpdesk) -> None:
    """A late file, a customer who pays more, tickets that were closed and one that is new."""
    (PROJECT / "data" / "orders" / "late.csv").write_text(LATE_ORDERS)
    crm("UPDATE customers SET tier = 'enterprise', changed_at = '2026-03-01T10:00:00Z' WHERE id = 7")
    for ticket in desk.tickets[:40:8]:
        ticket |= {"status": "closed", "updated_at": "2026-03-01T10:00:00Z"}
    desk.tickets.append(
        {
            "id": 400,
            "customer": "customer-007",
            "subject": "where is my desk?",
            "status": "open",
            "updated_at": "2026-03-01T11:00:00Z",
        }
    )


def tour(desk: Helpdesk, url: str) -> None:
    say("1. A project that runs as it is, with orders in files; beside them a database and an API")
    hakiri("init", "demo")
    make_crm()
    written("pipelines/customers.toml", CUSTOMERS_PIPELINE)
    written("pipelines/tickets.toml", TICKETS_PIPELINE.format(url=url))
    say("2. What do the sources have? Asked without Spark")
    hakiri("source", "tables", "customers")
    hakiri("source", "sample", "tickets", "--rows", "3")
    say("3. The transform of the orders, compiled into the plan that runs; and what would change")
    hakiri("compile")
    hakiri("plan")
    say("4. Make it so: rows are pulled, written as Parquet, and committed (starting Spark takes longest)")
    hakiri("apply")
    say("5. A second time there is nothing to do; Spark is not even asked")
    hakiri("apply")
    say("6. Time goes by: a late file, a customer who pays more, tickets that were closed, a new one")
    time_goes_by(desk)
    for pipeline in ("orders", "customers", "tickets"):
        hakiri("run", pipeline)
    hakiri("status")
    say("7. Small files of many runs become one that is sorted; readers see the same rows throughout")
    hakiri("context", "compact")
    say("8. One question over all three sources")
    written("report.sql", QUESTION)
    hakiri("query", "-f", "report.sql")
    say("9. The same question from a stock DuckDB, which knows nothing of Hakiri")
    stock_duckdb("report.sql")


def main() -> None:
    shutil.rmtree(PROJECT, ignore_errors=True)
    began = time.monotonic()
    desk = Helpdesk()
    try:
        with desk.open() as url:
            tour(desk, url)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if PROJECT.exists():
            say("The server stops by itself after ten idle minutes, or now")
            shown("hakiri engine stop")
            subprocess.run([HAKIRI, "engine", "stop"], cwd=PROJECT, env=ENV, check=False)
    say(f"All of it took {time.monotonic() - began:.0f} s. Look around in demo/, whose API is gone:")
    sys.stdout.write("  .venv/bin/hakiri -C demo query\n")


if __name__ == "__main__":
    main()
