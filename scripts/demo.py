"""The demo: a new project, its source, its transform and its plan, and a Spark job over its sample data."""

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
    say("7. The server stops by itself after ten idle minutes, or now")
    hakiri("engine", "stop")
    say("The project is in demo/. Go on with its README, or look around: .venv/bin/hakiri --help")


if __name__ == "__main__":
    main()
