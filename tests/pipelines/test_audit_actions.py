"""The page about the catalog names every action that the audit log may have."""

from __future__ import annotations

import re
from pathlib import Path

from hakiri.catalog.contract.pipelines import Decision
from hakiri.compaction.restoring import ACTION as RESTORE
from hakiri.pipelines.evolution.recording import ACCEPTED, MIGRATED, RECONCILED
from hakiri.pipelines.refusals import REFUSED
from hakiri.pipelines.runtime.leaving import BACK, LEFT

ROOT = Path(__file__).parents[2]
ACTIONS = {*Decision, "cursor", "rewind", REFUSED, ACCEPTED, MIGRATED, RECONCILED, LEFT, BACK, RESTORE}
# What is written there is one of these names, or a name in place of it.
WRITTEN = re.compile(
    r"audit\.note\(\s*[\w.\"]+,\s*([\w.\"-]+),|NewEntry\(\s*by=[\w.]+,\s*action=([\w.\"-]+),"
)
NAMES = {'"cursor"', '"rewind"', "decision", "action", "REFUSED", "LEFT", "BACK", "ACTION"}


def test_the_page_names_every_action() -> None:
    page = (ROOT / "docs" / "catalog.md").read_text("utf-8")
    section = page.partition("## Who decided what")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    assert set(re.findall(r"`([a-z-]+)`", " ".join(rows))) == {str(action) for action in ACTIONS}


def test_nothing_else_is_written_into_the_log() -> None:
    files = [file for file in (ROOT / "src").rglob("*.py") if "testing" not in file.parts]
    found = {name for file in files for names in WRITTEN.findall(file.read_text("utf-8")) for name in names}

    assert found - {""} == NAMES
