"""Bringing a project's own Python code to wherever Spark runs its tasks."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

USER_FOLDERS = ("connectors", "parsers")
_SHIPPED = frozenset({".py", ".sql"})  # code, and the statements that stand in files beside it
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time a zip can hold: equal code gives equal bytes


def code_archive(roots: Iterable[tuple[Path, str]]) -> bytes | None:
    """A zip of every Python and SQL file below `<root>/<folder>`, importable as `<folder>.<module>`.

    The same files give the same bytes. None where there are no such files.
    """
    files = sorted(
        (path.relative_to(root).as_posix(), path)
        for root, folder in roots
        for path in (root / folder).rglob("*")
        if path.suffix in _SHIPPED and "__pycache__" not in path.parts and path.is_file()
    )
    if not files:
        return None
    # Python finds no package without an __init__ inside a zip.
    packages = {f"{parent}/__init__.py" for name, _ in files for parent in PurePosixPath(name).parents}
    contents = dict.fromkeys(packages - {"./__init__.py"}, b"")
    contents |= {name: path.read_bytes() for name, path in files}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def code_state(package: Path) -> str:
    """A word that is another one when a Python file of the package was changed, added or taken away.

    By sizes and times: to read them all would take longer than all else that a command does first.
    """
    state = hashlib.sha256()
    for folder, inner, names in os.walk(package):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(name for name in names if name.endswith(".py")):
            found = os.stat(os.path.join(folder, name))
            state.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return state.hexdigest()[:16]


def ship_code(spark: SparkSession, archive: bytes, workplace: Path) -> None:
    """Make the archive importable in every Python task of this session, on every master.

    Spark Connect carries it to the driver, and the driver to the executors. The name tells the content
    apart, so that a changed connector is never shadowed by an earlier one in a reused Python worker.
    """
    path = workplace / f"project-code-{hashlib.sha256(archive).hexdigest()[:16]}.zip"
    path.write_bytes(archive)
    spark.addArtifacts(str(path), pyfile=True)
