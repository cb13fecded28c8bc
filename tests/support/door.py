"""The command line inside this process, for whoever needs it longer than one test."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hakiri.cli import main
from hakiri.store.layout import StoreLayout
from hakiri.store.reading import open_reader

if TYPE_CHECKING:
    from hakiri.engine import EngineHome

# What makes a command find the Spark server that the tests share.
SHARED = ("--set", "engine.master=local[2]", "--set", "engine.driver_memory=1GiB")
ON_SPARK = ("apply", "preview", "run")
COLORS = ("NO_COLOR", "FORCE_COLOR", "_HAKIRI_COMPLETE")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one command line did: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Runs `hakiri` in a folder, without the caller's colours and settings."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def beside(cls, home: EngineHome, folder: Path, env: Mapping[str, str] | None = None) -> Door:
        """A door whose commands use the Spark server that has this home."""
        own = {"HAKIRI_RUNTIME_DIR": str(home.runtime), "HAKIRI_CACHE_DIR": str(home.cache)}
        return cls(folder=folder, env=own | dict(env or {}))

    def __call__(self, *args: str) -> Outcome:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in COLORS and not name.startswith("HAKIRI_")
        }
        out, err = io.StringIO(), io.StringIO()
        with (
            chdir(self.folder),
            patch.dict(os.environ, kept | self.env, clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main((*args, *(SHARED if args[0] in ON_SPARK else ())))
        return Outcome(code=code, out=out.getvalue(), err=err.getvalue())

    def done(self, *args: str) -> Outcome:
        """Run it, and insist that it succeeds."""
        outcome = self(*args)
        assert outcome.code == 0, f"hakiri {' '.join(args)}: {outcome.err}"
        return outcome

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    @property
    def store(self) -> StoreLayout:
        """The store of the only project, where the manifest has it by default."""
        (store,) = (self.folder / ".hakiri" / "context").iterdir()
        return StoreLayout(store)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What stock DuckDB reads through the views of the store."""
        with open_reader(self.store) as reader:
            return reader.execute(sql).fetchall()
