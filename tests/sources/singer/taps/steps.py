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


def do(step: dict[str, Any]) -> None:
    ((what, value),) = step.items()
    if what == "say":
        sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    elif what == "write":
        sys.stdout.buffer.write(value.encode("utf-8", "surrogateescape"))
    elif what == "repeat":
        sys.stdout.write((json.dumps(value["say"]) + "\n") * value["times"])
    elif what == "count":
        for number in range(value["until"]):
            record = {"id": number, "text": "x" * value.get("letters", 1)}
            sys.stdout.write(json.dumps({"type": "RECORD", "stream": "things", "record": record}) + "\n")
    elif what == "log":
        sys.stderr.write(value + "\n")
        sys.stderr.flush()
    elif what == "child":
        child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        Path(value).write_text(str(child.pid))
    elif what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif what == "hang":
        sys.stdout.flush()
        while True:
            signal.pause()
    elif what == "kill":
        sys.stdout.flush()
        os.kill(os.getpid(), value)
    elif what == "exit":
        sys.stdout.flush()
        os._exit(value)


config = json.loads(Path(option("--config") or "").read_text())
if "report" in config:
    report(Path(config["report"]))
for each in config.get("discover" if "--discover" in sys.argv else "steps", []):
    do(each)
sys.stdout.flush()
