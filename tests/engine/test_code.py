from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from hakiri.engine.code import code_archive


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
