"""Other tools to measure against, each in an environment of its own, made when it is first needed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
# Pinned, so that a figure of today and one of next year are about the same thing.
DLT = (
    "dlt[parquet,filesystem]==1.31.0",
    "connectorx==0.4.6",
    "psycopg2-binary==2.9.13",
    "sqlalchemy>=2.0,<3",
)


DELTA = ("deltalake==1.6.6", "pyarrow==26.0.1")


def delta_python() -> str:
    """A Python with Delta tables, without Spark."""
    return _python("delta", DELTA)


def dlt_python() -> str:
    """A Python with dlt and its fastest way out of Postgres."""
    return _python("dlt", DLT)


def _python(name: str, packages: tuple[str, ...]) -> str:
    home = FOLDER / name
    python = home / "bin" / "python"
    wanted = "\n".join(packages)
    stamp = home / "packages"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"setting up {name} in {home} …", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True
        )
        stamp.write_text(wanted)
    return str(python)


def timed(python: str, script: str, *arguments: str) -> float:
    """Seconds that the script prints as its last line: what it measured itself, without its start."""
    done = subprocess.run(
        [python, "-c", script, *arguments], capture_output=True, text=True, check=False, timeout=1800
    )
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise SystemExit("a peer failed")
    return float(done.stdout.split()[-1])
