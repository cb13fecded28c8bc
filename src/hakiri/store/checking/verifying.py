"""Files against what they must hold: there, as large, of the same bytes, and with the footer that fits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from hakiri.store.checking.advice import FROM_CATALOG
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.checking.wanted import Role, WantedFile, WantedText
from hakiri.store.files import Files

Tell = Callable[[int], None]
_PIECE_BYTES = 1 << 20
_MOST_THREADS = 4


def verified(root: Path, wanted: Iterable[WantedFile], *, is_quick: bool, tell: Tell) -> Iterator[Finding]:
    """What is wrong with these files, in several threads; `tell` hears of the bytes that are done.

    A quick look stops at their size.
    """
    look = partial(_wrong_with, root, is_quick=is_quick, tell=tell)
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "hakiri-check") as threads:
        try:
            for finding in threads.map(look, wanted):
                if finding is not None:
                    yield finding
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def texts_verified(root: Path, wanted: Iterable[WantedText], files: Files) -> Iterator[Finding]:
    """Which manifests on the disk are not what the catalog says."""
    for text in wanted:
        data = files.read(root / text.path)
        if data == text.text.encode() or (data is None and not text.is_required):
            continue
        yield Finding(
            kind=Kind.MANIFEST_MISSING if data is None else Kind.MANIFEST_CHANGED,
            path=text.path,
            table=text.table,
            found="it is not there" if data is None else "it is not what the catalog says",
            advice=FROM_CATALOG,
        )


def _wrong_with(root: Path, file: WantedFile, *, is_quick: bool, tell: Tell) -> Finding | None:
    path = root / file.path
    is_sidecar = file.role is Role.SIDECAR
    try:
        wrong = _changed(path, file, is_quick=is_quick, tell=tell)
    except FileNotFoundError:
        tell(file.bytes)
        kind = Kind.SIDECAR_MISSING if is_sidecar else Kind.FILE_MISSING
        return _finding(file, kind, "it is not there") if file.is_required else None
    except OSError as error:
        wrong = f"it cannot be read: {error.strerror or type(error).__name__}"
    if wrong:
        return _finding(file, Kind.SIDECAR_CHANGED if is_sidecar else Kind.FILE_CHANGED, wrong)
    return None if is_quick else _footer(path, file)


def _changed(path: Path, file: WantedFile, *, is_quick: bool, tell: Tell) -> str:
    """In what a file is not the one that was written."""
    size = path.stat().st_size
    if size != file.bytes or is_quick:
        tell(file.bytes)
        return "" if size == file.bytes else f"it has {size:,} bytes, and {file.bytes:,} were written"
    found = _sha256(path, tell)
    if found == file.sha256:
        return ""
    return f"its SHA-256 is {found[:12]}…, and {file.sha256[:12]}… was written"


def _sha256(path: Path, tell: Tell) -> str:
    digest, piece = hashlib.sha256(), memoryview(bytearray(_PIECE_BYTES))
    with path.open("rb", buffering=0) as data:
        while count := data.readinto(piece):
            digest.update(piece[:count])
            tell(count)
    return digest.hexdigest()


def _footer(path: Path, file: WantedFile) -> Finding | None:
    """A file of the right bytes may still be one that a writer got wrong."""
    if file.rows is None:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
        names = set(footer.schema.to_arrow_schema().names)
    except (pa.ArrowException, OSError) as error:
        return _finding(file, Kind.FOOTER_DIFFERS, f"it is no Parquet file: {error}")
    if footer.num_rows != file.rows:
        return _finding(
            file, Kind.FOOTER_DIFFERS, f"its footer says {footer.num_rows:,} rows, its manifest {file.rows:,}"
        )
    if file.columns is not None and names != file.columns:
        odd = ", ".join(f"`{name}`" for name in sorted(names ^ file.columns))
        return _finding(file, Kind.FOOTER_DIFFERS, f"its columns are not those of its schema: {odd}")
    return None


def _finding(file: WantedFile, kind: Kind, found: str) -> Finding:
    return Finding(kind=kind, path=file.path, table=file.table, found=found, advice=file.advice)
