"""Every command line and every manifest in the documentation does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
# What may stand in a block that is not run, with the reason.
NOT_RUN = MappingProxyType(
    {
        "git clone ": "the repository is here already",
        "cd ": "goes into the clone",
        "make ": "the targets run these tests, or take minutes",
        "pip install ": "the network is not the tests' to use",
        "uv ": "the network is not the tests' to use",
    }
)
MOST_NOT_RUN = 5
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def commands_not_run(document: Any) -> list[str]:
    return [
        line
        for block in document.blocks
        if "no-run" in block.notes
        for line in block.text.splitlines()
        if line.strip()
    ]


def test_a_document_does_what_it_says(document: Any, run: Callable[[Any], None]) -> None:
    run(document)


def test_only_listed_commands_are_not_run(document: Any) -> None:
    allowed = tuple(f"$ {command}" for command in NOT_RUN)

    assert [line for line in commands_not_run(document) if not line.startswith(allowed)] == []


def test_blocks_that_are_not_run_stay_few() -> None:
    notes = [note for page in PAGES for note in re.findall("<!-- no-run -->", page.read_text("utf-8"))]

    assert len(notes) <= MOST_NOT_RUN


def test_every_link_to_a_file_leads_to_one() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text("utf-8"))]

    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []
