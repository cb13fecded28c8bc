"""What the first lines of a view's text say about the state it shows, read back. See `views.header`."""

from __future__ import annotations

import json
import re

HEAD_LINES = 4
HEAD_BYTES = 8192  # none is longer: a path has at most 4096

_ROOT = re.compile(r'^-- Committed chunks: .*?, below (?P<root>".*")$', re.MULTILINE)
_REVISIONS = re.compile(
    r"^-- Catalog schema fingerprint: \S+ \(rev (?P<schema>\d+)\)\n-- Committed chunks: rev (?P<chunks>\d+) ",
    re.MULTILINE,
)


def root_shown(text: str) -> str | None:
    """The folder of the store that the view reads from; None if the text does not say."""
    found = _ROOT.search(text[:HEAD_BYTES])
    try:
        return None if found is None else str(json.loads(found["root"]))
    except ValueError:
        return None


def revisions_shown(text: str) -> tuple[int, int] | None:
    """The versions of the schema and of what landed that the view shows."""
    found = _REVISIONS.search(text[:HEAD_BYTES])
    return None if found is None else (int(found["schema"]), int(found["chunks"]))
