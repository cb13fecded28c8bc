"""One definition of one pipeline: what it says and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hakiri.core.errors import Place
from hakiri.manifest.layout import KeyPath
from hakiri.manifest.pipeline import PipelineSpec
from hakiri.manifest.read import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A pipeline as one file writes it. `path` leads to it in that file; `spec` is None if it is wrong."""

    id: str
    document: Document
    path: KeyPath
    data: dict[str, Any]
    spec: PipelineSpec | None
    is_converting: bool = False

    @property
    def valid_spec(self) -> PipelineSpec:
        if self.spec is None:
            raise ValueError(f"the definition of {self.id} was not checked")
        return self.spec

    def place(self, path: KeyPath = ()) -> Place:
        """Where the definition, or something in it, begins."""
        if self.document.form == "toml" and not self.path and not path:
            # A file that is one pipeline has no header: its first key is where it begins.
            path = tuple(self.data)[:1]
        return self.document.place((*self.path, *path))
