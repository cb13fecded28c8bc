"""What TOML and JSON parsers complain about, in plain words that do not change with the version of Python."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_BLANK = " \t\r\n"

# From what `tomllib` says to what we say, the first that matches.
_TOML = (
    ("Cannot overwrite a value", "a key is given twice", "keep one"),
    ("Cannot mutate immutable namespace", "a table is given twice", "keep all of its keys in one place"),
    (r"Cannot declare \((.*)\) twice", "table `NAME` is given twice", "keep one"),
    ("Duplicate inline table key", "a key is given twice", "keep one"),
    ("Expected '=' after a key", "`=` expected after the key", 'write `key = "value"`'),
    ("Invalid value|Invalid date or datetime", "no value starts here", "put texts in quotes"),
    ("Invalid statement", "no key and no table starts here", 'write `key = "value"`, or `[table]`'),
    ("Expected newline", "a new line expected here", "write each key on a line of its own"),
    ("Unclosed array", "a list has no `]`", "close the list"),
    ("Unclosed inline table", "a table has no `}`", "close the table; it must stand on one line"),
    (r"Illegal character '\\n'|Unterminated string", "a text has no closing quote", "close the quote"),
    (r"Expected '\]\]?'", "a table's name has no closing bracket", "write `[table]` or `[[table]]`"),
    ("Illegal character|invalid character", "a character that may not stand here", "take it out"),
    ("Unescaped|Invalid hex|Escaped char", "a backslash that means nothing", "double the backslash"),
    ("Invalid initial character", "no key starts here", "put keys with other characters in quotes"),
)  # fmt: skip

# The same for `json`, as far as its words tell enough. The rest is told from the character it stopped at.
_JSON = (
    ("Extra data", "more text after the end", "write one pipeline a file"),
    ("control character", "a line ends inside a text", "close the quote, or write the line end as `\\n`"),
    (r"Illegal character '\\n'|Unterminated string", "a text has no closing quote", "close the quote"),
    ("escape", "a backslash that means nothing", "double the backslash"),
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Where a text stops being what it should be, and why."""

    line: int
    column: int
    message: str
    hint: str


def toml_complaint(said: str, text: str) -> Complaint:
    """What `tomllib` said about this text, in our words."""
    match = _AT.search(said)
    said_only = said[: match.start()] if match else said
    if match and match[1]:
        line, column = int(match[1]), int(match[2])
    else:
        return Complaint(*_end_of(text), "the text ends too early", "close all quotes and brackets")
    for pattern, message, hint in _TOML:
        found = re.search(pattern, said_only)
        if found:
            name = ".".join(re.findall(r"'([^']*)'", found[1])) if found.groups() else ""
            return Complaint(line, column, message.replace("NAME", name), hint)
    return Complaint(line, column, said_only[:1].lower() + said_only[1:], "correct the text here")


def json_complaint(error: json.JSONDecodeError) -> Complaint:
    """What `json` said, told from the text itself, because its words differ between versions."""
    text = error.doc
    at = _first_after(text, error.pos)
    for word, message, hint in _JSON:
        if word in error.msg:
            return _at(text, at if word == "Extra data" else error.pos, message, hint)
    behind = _first_after(text, at + 1)
    if text[at : at + 1] == "," and text[behind : behind + 1] in {"}", "]"}:
        at = behind  # newer versions of Python point at the comma, older ones behind it
    return _at(text, at if at < len(text) else len(text.rstrip(_BLANK)), *_expectation(text, at, error.msg))


def _expectation(text: str, at: int, said: str) -> tuple[str, str]:
    """What is wrong with the character at this place, and what to do."""
    here = text[at : at + 1]
    message, hint = "no value starts here", "put texts in double quotes"
    if not here:
        message, hint = "the text ends too early", "close all brackets"
    elif here in {"}", "]"} and text[:at].rstrip(_BLANK)[-1:] == ",":
        message, hint = f"a comma before `{here}`", "remove the comma"
    elif here in {"/", "#"}:
        message, hint = "JSON has no comments", "remove the comment, or write the pipeline in TOML"
    elif here == "'":
        message, hint = "a single quote", "use double quotes"
    elif "delimiter" in said:
        missing = "`:`" if "':'" in said else "`,`"
        message, hint = f"{missing} expected here", f"write the {missing}"
    elif "property name" in said:
        message, hint = "a key in double quotes expected here", "put the key in double quotes"
    return message, hint


def _at(text: str, offset: int, message: str, hint: str) -> Complaint:
    line_start = text.rfind("\n", 0, offset) + 1
    return Complaint(text.count("\n", 0, offset) + 1, offset - line_start + 1, message, hint)


def _end_of(text: str) -> tuple[int, int]:
    kept = text.rstrip("\r\n")
    return kept.count("\n") + 1, len(kept) - (kept.rfind("\n") + 1) + 1


def _first_after(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in _BLANK:
        offset += 1
    return offset
