"""A tap that does what its config says, step by step, whatever any specification says.

With `--discover` it does the steps in `discover`, else those in `steps`. What it was started with is written
to the file `report`, if the config names one.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

CHILD = (
    "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
)


def option(name: str) -> str | None:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def report(path: Path) -> None:
    files = {name: option(name) for name in ("--config", "--catalog", "--properties", "--state")}
    told = {
        "arguments": sys.argv[1:],
        "variables": dict(os.environ),
        "folder": os.getcwd(),
        "modes": {name: stat.S_IMODE(os.stat(file).st_mode) for name, file in files.items() if file},
        "private_mode": stat.S_IMODE(os.stat(Path(files["--config"] or "").parent).st_mode),
        "files": {name: json.loads(Path(file).read_text()) for name, file in files.items() if file},
        "process": os.getpid(),
    }
    path.write_text(json.dumps(told))


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")


def write(content: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


def count(until: int, letters: int = 1) -> None:
    for number in range(until):
        say({"type": "RECORD", "stream": "things", "record": {"id": number, "text": "x" * letters}})


def log(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def have_child(file: str, *, is_daemon: bool = False) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, start_new_session=is_daemon
    )
    assert child.stdout is not None
    child.stdout.readline()
    Path(file).write_text(str(child.pid))


def hang() -> None:
    sys.stdout.flush()
    while True:
        signal.pause()


def end(code: int) -> None:
    sys.stdout.flush()
    os._exit(code)


def die(number: int) -> None:
    sys.stdout.flush()
    os.kill(os.getpid(), number)


STEPS = {
    "say": say,
    "write": lambda text: write(text.encode()),
    "bytes": lambda text: write(bytes.fromhex(text)),
    "count": lambda value: count(**value),
    "log": log,
    "child": have_child,
    "daemon": lambda file: have_child(file, is_daemon=True),
    "ignore": lambda number: signal.signal(number, signal.SIG_IGN),
    "hang": lambda _: hang(),
    "kill": die,
    "exit": end,
}
config = json.loads(Path(option("--config") or "").read_text())
if "report" in config:
    report(Path(config["report"]))
for each in config.get("discover" if "--discover" in sys.argv else "steps", []):
    ((what, value),) = each.items()
    STEPS[what](value)
sys.stdout.flush()
