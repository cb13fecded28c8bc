"""One step of a transform, however it is written."""

from __future__ import annotations

from dataclasses import dataclass

from hakiri.core.errors import Place
from hakiri.transforms.authoring import Target, Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTransform:
    """One step of one pipeline, and where it is written.

    The function takes the rows, and reference tables as arguments of their names. `references` None means
    that it is to be given all that the pipeline declares.
    """

    target: Target
    function: Transform
    references: tuple[str, ...] | None
    language: str
    place: Place

    @property
    def pipeline(self) -> str:
        return self.target.pipeline

    def serves(self, table: str) -> bool:
        """Whether the rows of this table go through it."""
        return self.target.table is None or self.target.table == table
