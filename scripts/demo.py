"""The demo: a new project, its source, its transform, its plan, and the table that an apply makes of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "demo"
HAKIRI = str(Path(sys.executable).with_name("hakiri"))
LATE_ORDERS = """\
order_id,customer,country,item,quantity,price,ordered_at,status
9001,customer-007,NZ,desk,2,249.90,2026-03-01T08:00:00Z,paid
9002,customer-008,NZ,notebook,5,4.50,2026-03-01T09:30:00Z,paid
"""


def say(text: str) -> None:
    sys.stdout.write(f"\n\x1b[1m{text}\x1b[0m\n" if sys.stdout.isatty() else f"\n# {text}\n")
    sys.stdout.flush()


def hakiri(*arguments: str) -> None:
    """Run a command as it is shown; the demo ends where one fails."""
    sys.stdout.write(f"$ hakiri {shlex.join(arguments)}\n")
    sys.stdout.flush()
    began = time.monotonic()
    # A server of the demo's own: stopping it at the end must not stop anybody else's.
    env = dict(os.environ) | {"HAKIRI_RUNTIME_DIR": str(PROJECT / ".hakiri" / "runtime")}
    done = subprocess.run([HAKIRI, *arguments], cwd=ROOT, env=env, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    sys.stdout.write(f"({time.monotonic() - began:.1f} s)\n")
    sys.stdout.flush()


def read_table(query: str) -> None:
    """Read the store as anybody would who has never heard of Hakiri: with DuckDB, and nothing else."""
    store = ".hakiri/context/demo/duck.db"
    sys.stdout.write(f"$ duckdb -readonly demo/{store} {shlex.quote(query)}\n")
    sys.stdout.flush()
    code = "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True).sql(sys.argv[2]).show()"
    subprocess.run([sys.executable, "-c", code, str(PROJECT / store), query], check=True)


def main() -> None:
    shutil.rmtree(PROJECT, ignore_errors=True)
    say("1. A project that runs as it is, offline, with sample data")
    hakiri("init", "demo")
    say("2. What does the source have? Asked without Spark")
    hakiri("-C", "demo", "source", "tables", "orders")
    hakiri("-C", "demo", "source", "sample", "orders", "--rows", "3")
    say("3. The transform, compiled into the plan that runs; still without Spark")
    hakiri("-C", "demo", "compile")
    say("4. What would change? Nothing is started for that, and nothing is touched")
    hakiri("-C", "demo", "plan")
    say("5. The rows, through Spark and the plan (the first start takes longest)")
    hakiri("-C", "demo", "preview", "orders", "--rows", "8")
    say("6. Once more: the Spark server is warm now. What comes out is known before any row is read")
    hakiri("-C", "demo", "compile", "--show")
    say("7. Make it so: the rows are pulled, written as Parquet, and committed")
    hakiri("-C", "demo", "apply")
    say("8. A second time there is nothing to do; Spark is not even asked")
    hakiri("-C", "demo", "apply")
    hakiri("-C", "demo", "status")
    say("9. What came out is a table that any DuckDB reads")
    read_table(
        "SELECT country, count(*) AS orders, sum(total) AS total FROM orders GROUP BY ALL ORDER BY ALL"
    )
    say("10. A file more at the source: a run pulls that, and nothing else again")
    (PROJECT / "data" / "orders" / "late.csv").write_text(LATE_ORDERS)
    hakiri("-C", "demo", "run", "orders")
    read_table("SELECT order_id, customer, country, item, total FROM orders WHERE order_id > 9000")
    say("11. The server stops by itself after ten idle minutes, or now")
    hakiri("engine", "stop")
    say("The project is in demo/. Go on with its README, or look around: .venv/bin/hakiri --help")


if __name__ == "__main__":
    main()
