"""Starting a tap: its files in a folder of its own, its variables, and its turn."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from hakiri.core.secrets import Secret, masker
from hakiri.sources.config import Template
from hakiri.sources.contract import Context
from hakiri.sources.singer.config import SingerConfig
from hakiri.sources.singer.process import Command, TapRun
from hakiri.sources.singer.surroundings import environment, find_tap

# A shorter line of a secret would be found in texts that have nothing to do with it.
SHORTEST_HIDDEN_LINE = 8


class Tap:
    """A tap with its config, which can be run any number of times."""

    def __init__(self, config: SingerConfig, context: Context, *, most_line_bytes: int) -> None:
        self._config = config
        self._context = context
        self._most_line_bytes = most_line_bytes
        self._running: list[TapRun] = []
        self.on_log: Callable[[str], None] | None = None
        self.name = _called(config.tap)
        self.mask = masker(_hidden(context.secrets.values()))

    @contextmanager
    def run(self, files: Mapping[str, Any], *flags: str) -> Iterator[TapRun]:
        """The tap while it runs with its config and these files, each as the option of its name.

        The start is one turn, until the tap writes something. Raises PermanentFailure if there is no tap.
        """
        config, secrets = self._config, self._context.secrets
        declared = {name: value.fill(secrets) for name, value in config.env.items()}
        program = find_tap(config.tap[0], self._context.root, declared.get("PATH"))
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="hakiri-singer-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            options = [
                option
                for name, content in {"config": _filled(config.config, secrets), **files}.items()
                for option in (f"--{name}", _written(folder / f"{name}.json", content))
            ]
            root = self._context.root
            command = Command(
                name=self.name,
                arguments=(str(program.absolute()), *config.tap[1:], *options, *flags),
                folder=folder,
                # Far from the project, in a Spark task, there may be no such folder.
                working_folder=root if root.is_dir() else folder,
                environment=environment(declared, program.absolute(), folder),
                silence=str(config.timeout),
                silence_seconds=config.timeout.total().total_seconds(),
                most_line_bytes=self._most_line_bytes,
            )
            with self._context.budget.turn():
                run = stack.enter_context(TapRun(command, self.mask, self.on_log))
                self._running.append(run)
                stack.callback(self._forget, run)
                run.wait_for_output()
            yield run

    def close(self) -> None:
        """End whatever still runs."""
        for run in tuple(self._running):
            run.close()

    def _forget(self, run: TapRun) -> None:
        self._running.remove(run)


def _called(tap: tuple[str, ...]) -> str:
    """What people call it: a script by its own name, and not by that of the Python that runs it."""
    names = [Path(part).name for part in tap]
    return names[1] if names[0].startswith("python") and len(names) > 1 else names[0]


def _hidden(secrets: Iterable[Secret]) -> Iterator[Secret]:
    """The secrets, and each line of those that have several, since a log is read line by line."""
    for secret in secrets:
        yield secret
        lines = secret.reveal().splitlines()
        if len(lines) > 1:
            yield from (Secret(line) for line in lines if len(line) >= SHORTEST_HIDDEN_LINE)


def _filled(value: Any, secrets: Mapping[str, Secret]) -> Any:
    if isinstance(value, Template):
        return value.fill(secrets)
    if isinstance(value, Mapping):
        return {key: _filled(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, secrets) for item in value]
    return value


def _written(path: Path, content: Any) -> str:
    """Write a file that nobody else may read; its path."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file, default=_number)
    return str(path)


def _number(value: object) -> int | float:
    """A bound in a catalog that is wider than 64 bits: exact if it is whole, else as near as a float is."""
    if not isinstance(value, Decimal):
        raise TypeError(f"`{type(value).__name__}` is no JSON")
    if value.as_tuple().exponent == 0:
        return int(value)
    return max(-sys.float_info.max, min(float(value), sys.float_info.max))
