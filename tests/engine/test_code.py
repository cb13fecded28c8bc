from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from hakiri.engine.code import code_archive, code_state


def project(root: Path) -> Path:
    for name in ("connectors/crm.py", "connectors/lib/pages.py", "parsers/hl7.py", "notes/x.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"NAME = {name!r}\n")
    (root / "connectors" / "__pycache__").mkdir()
    (root / "connectors" / "__pycache__" / "crm.py").write_text("stale")
    return root


def test_the_archive_holds_the_python_files_of_the_named_folders(tmp_path: Path) -> None:
    root = project(tmp_path)

    archive = code_archive([(root, "connectors"), (root, "parsers")])

    assert archive is not None
    assert zipfile.ZipFile(io.BytesIO(archive)).namelist() == [
        "connectors/__init__.py",
        "connectors/crm.py",
        "connectors/lib/__init__.py",
        "connectors/lib/pages.py",
        "parsers/__init__.py",
        "parsers/hl7.py",
    ]


def test_the_same_code_gives_the_same_bytes_whenever_it_was_written(tmp_path: Path) -> None:
    one, two = project(tmp_path / "one"), project(tmp_path / "two")
    os.utime(two / "parsers" / "hl7.py", (1, 1))

    assert code_archive([(one, "parsers")]) == code_archive([(two, "parsers")])


def test_a_project_without_code_has_no_archive(tmp_path: Path) -> None:
    assert code_archive([(tmp_path, "connectors")]) is None


def test_the_state_of_code_changes_with_its_python_files_alone(tmp_path: Path) -> None:
    root = project(tmp_path)
    changes = {
        "nothing": lambda: None,
        "compiled": lambda: (root / "connectors" / "__pycache__" / "new.py").write_text(""),
        "other": lambda: (root / "connectors" / "notes.md").write_text("text"),
        "edited": lambda: (root / "connectors" / "lib" / "pages.py").write_text("NAME = None\n"),
        "touched": lambda: os.utime(root / "parsers" / "hl7.py", (1, 1)),
        "added": lambda: (root / "parsers" / "new.py").write_text(""),
        "removed": (root / "parsers" / "new.py").unlink,
    }
    seen, changed = code_state(root), []

    for name, change in changes.items():
        change()
        if (now := code_state(root)) != seen:
            changed.append(name)
        seen = now

    assert changed == ["edited", "touched", "added", "removed"]
