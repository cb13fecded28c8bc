"""Reading one file of a manifest: bytes to plain values, or what is wrong with them, each with its line."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from hakiri.core.errors import Place
from hakiri.manifest.json_layout import scan_json
from hakiri.manifest.layout import KeyPath, Spots, dotted, line_of, nearest_spot
from hakiri.manifest.problems import Code, Problem
from hakiri.manifest.syntax import json_complaint, toml_complaint
from hakiri.manifest.toml_layout import scan_toml

Form = Literal["toml", "json"]

DEEPEST = 64
LONGEST_NUMBER = 400  # characters; Python itself stops at some thousand
SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1  # what TOML can write
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file of a manifest with its plain values. `file` is relative to the project, with slashes."""

    file: str
    form: Form
    text: str
    data: dict[str, Any]

    def spots(self) -> Spots:
        """Where everything stands. Made when somebody asks: most files never need it."""
        return _spots(self.form, self.text)

    def place(self, path: KeyPath, spots: Spots | None = None) -> Place:
        """Where this path, or the nearest thing around it, is written."""
        spot = nearest_spot(self.spots() if spots is None else spots, path)
        return Place(self.file, line_of(self.text, spot.start) if spot else 1)


@lru_cache(maxsize=16)
def _spots(form: Form, text: str) -> Spots:
    """A plan asks for the place of every pipeline, and they may all be in one file."""
    return MappingProxyType(scan_toml(text).spots if form == "toml" else scan_json(text).spots)


@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of a file. With a document there may be problems too; `spoilt` are their paths."""

    document: Document | None
    problems: tuple[Problem, ...] = ()
    spoilt: frozenset[KeyPath] = frozenset()


def read_document(root: Path, file: str, form: Form) -> Reading:
    """Read one file. Nothing is raised for what is wrong with it."""
    try:
        content = (root / file).read_bytes()
    except IsADirectoryError:
        return _unreadable(file, "is a folder, not a file", "rename the folder, or move it elsewhere")
    except FileNotFoundError:
        return _unreadable(file, "is a link to nothing", "remove the link, or make its target")
    except PermissionError:
        return _unreadable(file, "may not be read by this user", f"run `chmod u+r {file}`")
    except OSError as error:
        return _unreadable(file, f"cannot be read ({error.strerror})", "check the disk")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _failed(
            Code.ENCODING, Place(file, line), f"`{file}` is not in UTF-8", "save the file as UTF-8"
        )
    return read_text(file, form, text)


def read_text(file: str, form: Form, text: str) -> Reading:
    """Read the text of one file, as `read_document` does."""
    if text.startswith(_BOM):
        return _failed(
            Code.ENCODING,
            Place(file, 1),
            f"`{file}` begins with a byte order mark",
            "save the file as UTF-8 without a byte order mark",
        )
    if not text.strip():
        return _failed(
            Code.EMPTY_FILE, Place(file), f"`{file}` is empty", "write a manifest into it, or delete it"
        )
    return (_parse_toml if form == "toml" else _parse_json)(file, text)


def _unreadable(file: str, why: str, hint: str) -> Reading:
    return _failed(Code.UNREADABLE, Place(file), f"`{file}` {why}", hint)


def _failed(code: Code, place: Place, message: str, hint: str, column: int | None = None) -> Reading:
    return Reading(None, (Problem(code=code, place=place, message=message, hint=hint, column=column),))


def _parse_toml(file: str, text: str) -> Reading:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        complaint = toml_complaint(str(error), text)
        return _failed(
            Code.SYNTAX,
            Place(file, complaint.line),
            f"not valid TOML: {complaint.message}",
            complaint.hint,
            complaint.column,
        )
    except RecursionError:
        return _too_deep(file)
    except ValueError:  # a whole number with more digits than Python reads
        return _long_number(file, text)
    return _checked(Document(file=file, form="toml", text=text, data=data))


def _parse_json(file: str, text: str) -> Reading:
    repeats = 0

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        made = dict(pairs)
        repeats += len(pairs) - len(made)
        return made

    try:
        data = json.loads(text, object_pairs_hook=members, parse_int=_int)
    except json.JSONDecodeError as error:
        complaint = json_complaint(error)
        return _failed(
            Code.SYNTAX,
            Place(file, complaint.line),
            f"not valid JSON: {complaint.message}",
            complaint.hint,
            complaint.column,
        )
    except RecursionError:
        return _too_deep(file)
    if not isinstance(data, dict):
        return _failed(
            Code.WRONG_TYPE,
            Place(file, 1),
            "the file must hold one pipeline between `{` and `}`",
            "write one pipeline a file",
        )
    reading = _checked(Document(file=file, form="json", text=text, data=data))
    if not repeats or reading.document is None:
        return reading
    return replace(reading, problems=(*_repeated(file, text), *reading.problems))


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_NUMBER else math.inf


def _too_deep(file: str) -> Reading:
    return _failed(
        Code.TOO_DEEP,
        Place(file),
        f"`{file}` is nested more than {DEEPEST} levels deep",
        "write it flatter",
    )


def _long_number(file: str, text: str) -> Reading:
    match = re.search(rf"\d{{{LONGEST_NUMBER},}}", text.replace("_", "0"))
    line = line_of(text, match.start()) if match else None
    return _failed(Code.NUMBER, Place(file, line), "a number is too large", "use a number of at most 64 bits")


def _repeated(file: str, text: str) -> list[Problem]:
    layout = scan_json(text)
    again = {path for path, _ in layout.repeated}
    return [
        Problem(
            code=Code.DUPLICATE_KEY,
            place=Place(file, line_of(text, spot.start)),
            path=dotted(path),
            message=f"key `{path[-1]}` is given twice",
            hint=f"keep one; the first is on line {line_of(text, layout.spots[path].start)}",
        )
        for path, spot in layout.repeated
        if not any(path[:length] in again for length in range(len(path)))
    ]


def _checked(document: Document) -> Reading:
    """The document with the values that no manifest can hold taken out, and told about."""
    bad: list[tuple[KeyPath, Code, str, str]] = []

    def clean(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return _deeper(
                path, lambda: {_key(key, path): clean(item, (*path, key)) for key, item in value.items()}
            )
        if isinstance(value, list):
            return _deeper(path, lambda: [clean(item, (*path, number)) for number, item in enumerate(value)])
        wrong = _unfit(value)
        if wrong is None:
            return value
        bad.append((path, *wrong))
        return "" if isinstance(value, str) else 0

    def _key(key: str, path: KeyPath) -> str:
        if _SURROGATE.search(key):
            bad.append((path, Code.TEXT, "a key holds half a character", _WHOLE_CHARACTER))
            return _SURROGATE.sub("?", key)
        return key

    try:
        data = clean(document.data, ())
    except RecursionError:
        return _too_deep(document.file)
    if not bad:
        return Reading(document)
    spots = document.spots()
    problems = tuple(
        Problem(code=code, place=document.place(path, spots), path=dotted(path), message=message, hint=hint)
        for path, code, message, hint in bad
    )
    return Reading(replace(document, data=data), problems, frozenset(path for path, *_ in bad))


_WHOLE_CHARACTER = "write the character itself, or both halves of it"


def _deeper(path: KeyPath, make: Callable[[], Any]) -> Any:
    if len(path) > DEEPEST:
        raise RecursionError
    return make()


def _unfit(value: Any) -> tuple[Code, str, str] | None:
    if isinstance(value, float) and not math.isfinite(value):
        what = "not a number" if math.isnan(value) else "infinite, or too large"
        return Code.NUMBER, f"this number is {what}", "write a finite number of at most 64 bits"
    if isinstance(value, int) and not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
        return Code.NUMBER, "this number is too large", "use a number of at most 64 bits, or put it in quotes"
    if isinstance(value, str) and _SURROGATE.search(value):
        return Code.TEXT, "this text holds half a character", _WHOLE_CHARACTER
    return None
