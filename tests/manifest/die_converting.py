"""Convert a pipeline again and again, dying at each change of the disk; prints how many changes there were.

A program of its own, because it forks, which a process with threads must not do.
"""

from __future__ import annotations

import os
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any

from hakiri.manifest import convert_pipeline, edit_pipeline, load_project

DIED = 7


def convert_and_die(root: Path, form: Any, step: int) -> None:
    """Convert, but die right before the nth change of the disk."""
    left = step

    def die(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        is_writing = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if is_writing or event in {"os.rename", "os.remove", "os.mkdir", "os.chmod"}:
            if left == 0:
                os._exit(DIED)
            left -= 1

    sys.addaudithook(die)
    convert_pipeline(root, "issues", form)
    os._exit(0)


def main(template: Path, form: Any) -> int:
    spec = load_project(template).pipeline("issues")
    for step in count():
        root = template.with_name(f"{template.name}-{step}")
        shutil.copytree(template, root)
        child = os.fork()
        if child == 0:
            convert_and_die(root, form, step)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        after = load_project(root)
        assert after.pipeline("issues") == spec, f"changed at step {step}"
        if code == 0:
            assert after.form_of("issues") == form
            return step
        assert code == DIED
        edit_pipeline(root, "issues", {"incremental": "updated_at"})
        assert load_project(root).pipeline("issues").incremental == "updated_at"
        assert not list(root.glob("pipelines/*.converting")), f"not finished after step {step}"
    return 0


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2]))  # noqa: T201 - the test reads it
