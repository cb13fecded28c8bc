"""Finding files by glob: `*`, `?` and `[…]` in a name, and `**` for any number of folders.

Not `Path.glob`: what it does with links and hidden folders differs between versions of Python, and it asks
for every file's size and time again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

TABLE_SIGN = "{table}"
ANY_DEPTH = "**"
_MAGIC = re.compile(r"[*?\[]")
# Spark leaves out files with such names, even those that it is told to read.
_HIDDEN = ("_", ".")
_HALF_COPIED = "._COPYING_"


class BadGlob(Exception):
    """Why a text is no glob."""


def check_glob(glob: str) -> None:
    """Raise BadGlob for what no file can match."""
    for part in _parts_of(glob):
        if ANY_DEPTH in part and part != ANY_DEPTH:
            raise BadGlob("`**` stands for whole folders and takes no other signs beside it")
        if "\0" in part:
            raise BadGlob("no path has a zero byte")
    if not _parts_of(glob):
        raise BadGlob("it names no file")


def for_table(glob: str, table: str) -> str:
    """The glob of one table; signs in the table's name mean themselves."""
    return glob.replace(TABLE_SIGN, _MAGIC.sub(r"[\g<0>]", table))


def table_names(glob: str, paths: Iterable[str]) -> set[str]:
    """What stands for `{table}` in these paths, which the glob with `*` in its place has found."""
    before, _, after = glob.partition(TABLE_SIGN)
    pattern = re.compile(f"{_as_regex(before)}(?P<table>[^/]+?){_as_regex(after.replace(TABLE_SIGN, '*'))}")
    return {found["table"] for path in paths if (found := pattern.fullmatch(path))}


def fixed_folder(glob: str) -> str:
    """The name of the last folder or file in the glob that is not a pattern, without its endings."""
    plain = [part for part in _parts_of(glob) if not _MAGIC.search(part) and part not in (".", "..")]
    return plain[-1].partition(".")[0] if plain else ""


def matches(root: str, glob: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file that the glob matches, with its path as the glob has it; links to files are files.

    A relative glob starts at `root`. Raises OSError for a folder that cannot be listed.
    """
    parts = _parts_of(glob)
    if parts[-1] == ANY_DEPTH:
        parts.append("*")
    start, shown = ("/", "/") if glob.startswith("/") else (root, "")
    yield from _walk(start, shown, parts)


def _walk(folder: str, shown: str, parts: list[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    part, rest = parts[0], parts[1:]
    if part == ANY_DEPTH:
        yield from _walk(folder, shown, rest)
        for entry in _entries(folder):
            # Links to folders are not followed: they may lead back.
            if entry.is_dir(follow_symlinks=False) and not is_hidden(entry.name):
                yield from _walk(entry.path, f"{shown}{entry.name}/", parts)
    elif not rest:
        fits = re.compile(translate(part)).match
        for entry in _entries(folder):
            if fits(entry.name) and not is_hidden(entry.name) and (entry.is_file() or _leads_nowhere(entry)):
                yield f"{shown}{entry.name}", entry
    elif not _MAGIC.search(part):
        yield from _walk(os.path.join(folder, part), f"{shown}{part}/", rest)
    else:
        fits = re.compile(translate(part)).match
        for entry in _entries(folder):
            is_meant = not is_hidden(entry.name) or part[0] == entry.name[0]
            if fits(entry.name) and is_meant and entry.is_dir():
                yield from _walk(entry.path, f"{shown}{entry.name}/", rest)


def is_hidden(name: str) -> bool:
    return name.startswith(_HIDDEN) or name.endswith(_HALF_COPIED)


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and not os.path.exists(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _parts_of(glob: str) -> list[str]:
    return [part for part in glob.split("/") if part not in ("", ".")]


def _as_regex(glob: str) -> str:
    """The glob as a regular expression over a whole path."""
    found = []
    for position, part in enumerate(glob.split("/")):
        if part == ANY_DEPTH:
            found.append("(?:[^/]+/)*")
            continue
        # `translate` lets `*` match a slash too, and closes with an anchor.
        inner = translate(part).removeprefix("(?s:").removesuffix(r")\Z").replace(".*", "[^/]*")
        is_last = position == glob.count("/")
        found.append(inner if is_last else f"{inner}/")
    return "".join(found)
