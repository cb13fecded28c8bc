"""Makes a golden store from the code as it is: `python -m tests.store.golden.make NAME`.

A golden store is made once, by the version that brought its form, and never again: later versions must read
what that one wrote. `NAME.tar.xz` has its files but for the views, which are derived and name the folder that
they were made in, and `NAME.json` what readers see.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.compaction.bench import Bench
from tests.store.everything import make_everything
from tests.store.workshop import Workshop, open_workshop

FOLDER = Path(__file__).resolve().parent
LEFT_OUT = ("duck.db", "meta.sqlite-lock", "views")
QUESTIONS = (
    "FROM orders ORDER BY id",
    "DESCRIBE orders",
    "SELECT _reason, _row, _pipeline_id, _seq FROM orders__quarantine ORDER BY ALL",
    'SELECT n, epoch_us("at") FROM events ORDER BY n',
)


def answers_of(workshop: Workshop) -> dict[str, list[Any]]:
    """What a reader sees, in a form for JSON."""
    return {
        sql: [
            [value if isinstance(value, int) else str(value) for value in row] for row in workshop.query(sql)
        ]
        for sql in QUESTIONS
    }


def make(name: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "shop"
        with open_workshop(root) as workshop:
            make_everything(Bench(workshop))
            answers = answers_of(workshop)
        with tarfile.open(FOLDER / f"{name}.tar.xz", "x:xz") as packed:
            for path in sorted(root.rglob("*")):
                if path.is_file() and path.relative_to(root).parts[0] not in LEFT_OUT:
                    packed.add(path, path.relative_to(root.parent).as_posix(), filter=_anybodys)
    with (FOLDER / f"{name}.json").open("x", encoding="utf-8") as file:
        file.write(f"{json.dumps(answers, indent=1, ensure_ascii=False)}\n")


def _anybodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    make(sys.argv[1])
