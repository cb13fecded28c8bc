"""Why no catalog can be made of the files that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hakiri.store.errors import StoreError

_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a file or a folder below the root of the store."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"`{self.path}` {self.why}"


class NothingToRebuild(StoreError):
    """A store without any table."""

    code = "store.nothing_to_rebuild"

    def __init__(self, root: str) -> None:
        self.root = root
        super().__init__(
            f"there is nothing to make a catalog of: `{root}` has no tables",
            hint="check `context.path`; a project that never ran has no store, and `hakiri apply` makes one",
        )


class TreeBroken(StoreError):
    """Files of the store that cannot be read, are missing, or contradict each other."""

    code = "store.tree_broken"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(str(problem) for problem in self.problems[:_SHOWN])
        more = len(self.problems) - _SHOWN
        super().__init__(
            f"no catalog can be made of the store: {shown}" + (f"; and {more} more" if more > 0 else ""),
            hint="put the files back from a backup; or move what is wrong out of the store, if its rows may "
            "go, and run the command again",
        )
