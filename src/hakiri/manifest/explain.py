"""From what pydantic found to what we say: which file, which line, which field, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hakiri.core.nearest import nearest
from hakiri.core.type_words import EXPECTED_TYPE
from hakiri.manifest.fields import Found, Strict
from hakiri.manifest.layout import KeyPath, Spots, dotted
from hakiri.manifest.pipeline import PipelineSpec
from hakiri.manifest.problems import Code, Problem
from hakiri.manifest.read import Document
from hakiri.manifest.schema import Schema, properties_at, schema_for_lookup
from hakiri.manifest.sections import ProjectFile
from hakiri.manifest.toml_text import toml_value

# Any of these asks for an order between pipelines, which only the world outside can give.
_ORDER_WORDS = frozenset({
    "after", "before", "dag", "depends", "depends_on", "dependencies", "dependency", "downstream", "needs",
    "on_success", "parents", "requires", "run_after", "runs_after", "trigger_after", "triggered_by",
    "triggers", "upstream", "wait_for",
})  # fmt: skip
_CREDENTIAL = re.compile(r"key|secret|token|password|passwd|credential", re.IGNORECASE)
# A table without its tag is a missing key; what comes this far is no table at all.
_EXPECTED = {**EXPECTED_TYPE, "union_tag_not_found": "a table"}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
}


def explain(
    error: ValidationError, document: Document, model: type[Strict], spoilt: Collection[KeyPath] = ()
) -> list[Problem]:
    """All that pydantic found in this document, except where the value was known to be spoilt."""
    teller = _Teller(document, model)
    problems: list[Problem] = []
    for details in error.errors(include_url=False):
        path = _clean_path(details["loc"], document.data)
        if path not in spoilt:
            problems += [teller.problem(found, path) for found in teller.found(details, path)]
    return problems


def _clean_path(location: Iterable[str | int], data: Any) -> KeyPath:
    """The path in the file, without the branch names that pydantic puts between."""
    path: KeyPath = ()
    here = data
    is_after_index = False
    for part in location:
        if part in {"<short>", "<long>", "[key]"} or is_after_index:
            is_after_index = False
            continue
        if not isinstance(here, dict | list):
            break
        is_after_index = isinstance(part, int) and path[-1:] == ("indexes",)
        path = (*path, part)
        if isinstance(here, dict):
            here = here.get(str(part), {})
        else:
            here = here[part] if isinstance(part, int) and part < len(here) else None
    return path


class _Teller:
    def __init__(self, document: Document, model: type[Strict]) -> None:
        self._document = document
        self._is_bare = model is PipelineSpec
        self._is_project = model is ProjectFile
        self._schema: Schema = schema_for_lookup(model)
        self._spots: Spots = document.spots()

    def problem(self, found: Found, path: KeyPath) -> Problem:
        whole = (*path, *found.path)
        return Problem(
            code=found.code,
            place=self._document.place(whole, self._spots),
            path=dotted(whole),
            message=found.message,
            hint=found.hint,
        )

    def found(self, details: ErrorDetails, path: KeyPath) -> list[Found]:
        """What there is to say about one error of pydantic, perhaps nothing."""
        kind = details["type"]
        if kind == "hakiri":
            return list(details["ctx"]["found"])
        if kind == "too_short" and details["input"]:
            return []  # pydantic counts the items that were right; the wrong ones are told already
        if kind == "missing":
            return [self._missing(path)]
        if kind == "extra_forbidden":
            return [self._unknown(path)]
        if kind == "union_tag_not_found" and isinstance(details["input"], dict):
            return [self._missing((*path, "kind"))._replace(path=("kind",))]
        found = _wrong_value(f"`{_last_name(path)}`", details)
        return [found if found.hint else found._replace(hint=self._example_hint(path) or "correct the value")]

    def _missing(self, path: KeyPath) -> Found:
        container, key = path[:-1], str(path[-1])
        if self._is_project and path == ("project",):
            hint = 'write `[project]` and under it `name = "my-warehouse"`'
        elif key == "kind":
            hint = f"write it like `{self._assignment(key, 'pk')}`"
        else:
            hint = self._example_hint(path)
        return Found(Code.MISSING_KEY, f"missing key `{key}` {self._where(container)}", hint)

    def _example_hint(self, path: KeyPath) -> str:
        """An order to write this key as the schema's example does, if it has one."""
        while path and isinstance(path[-1], int):
            path = path[:-1]
        key = str(path[-1])
        examples = self._known(path[:-1]).get(key, {}).get("examples")
        return f"write it like `{self._assignment(key, examples[0])}`" if examples else ""

    def _unknown(self, path: KeyPath) -> Found:
        container, key = path[:-1], str(path[-1])
        where = self._where(container)
        if self._is_pipeline(container) and key.casefold().replace("-", "_") in _ORDER_WORDS:
            return Found(
                Code.NO_DEPENDENCIES,
                f"`{key}` {where}: pipelines do not wait for each other",
                "take it out, and give the order from outside, for example `hakiri run a && hakiri run b`",
            )
        if self._is_project and container == ("sync",) and _CREDENTIAL.search(key):
            return Found(
                Code.CREDENTIAL,
                f"`{key}` {where}: credentials do not belong in a file",
                "take it out, and set HAKIRI_SYNC_KEY_ID and HAKIRI_SYNC_KEY_SECRET in the environment",
            )
        return Found(Code.UNKNOWN_KEY, f"unknown key `{key}` {where}", self._proposal(container, key))

    def _proposal(self, container: KeyPath, key: str) -> str:
        known = self._known(container)
        near = nearest(key, known)
        if near is not None:
            return f"did you mean `{near}`?"
        if not container and not self._is_bare and key in PipelineSpec.model_fields:
            return "write it under `[[pipeline]]`"
        if not container and not self._is_project and key in ProjectFile.model_fields:
            return "write it in `hakiri.toml`"
        return "known keys are " + ", ".join(f"`{name}`" for name in known if name != "$schema")

    def _known(self, container: KeyPath) -> dict[str, Schema]:
        return properties_at(self._schema, container, self._document.data)

    def _is_pipeline(self, path: KeyPath) -> bool:
        return path == self._pipeline_path(path)

    def _pipeline_path(self, path: KeyPath) -> KeyPath | None:
        """The path of the pipeline in which this path lies."""
        if self._is_bare:
            return ()
        return path[:2] if path[:1] == ("pipeline",) and len(path) > 1 else None

    def _where(self, container: KeyPath) -> str:
        base = self._pipeline_path(container)
        if base is None:
            if not container:
                return f"at the top of `{self._document.file}`"
            return f"in `[{container[0]}]`" if len(container) == 1 else f"in `{dotted(container)}`"
        owner = self._document.data if not base else self._document.data["pipeline"][base[1]]
        written = owner.get("id") if isinstance(owner, dict) else None
        pipeline = f"pipeline `{written}`" if isinstance(written, str) and written else "this pipeline"
        inner = container[len(base) :]
        return f"in `{dotted(inner)}` of {pipeline}" if inner else f"in {pipeline}"

    def _assignment(self, key: str, example: Any) -> str:
        if self._document.form == "toml":
            return f"{key} = {toml_value(example)}"
        return f'"{key}": {json.dumps(example)}'


def _last_name(path: KeyPath) -> str:
    """The last key with the numbers that follow it: `tables[0]`."""
    start = next((n for n in range(len(path) - 1, -1, -1) if isinstance(path[n], str)), 0)
    return dotted(path[start:])


def _wrong_value(name: str, details: ErrorDetails) -> Found:
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    if kind in _EXPECTED:
        return _wrong_type(name, details)
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return Found(Code.OUT_OF_RANGE, f"{name} must be {words} {context[key]:g}, not {given}")
    if kind == "literal_error":
        return _wrong_choice(name, context["expected"], given)
    if kind == "union_tag_invalid":
        return _wrong_choice("`kind`", context["expected_tags"], given.get("kind"))._replace(path=("kind",))
    if kind in {"string_too_short", "too_short"}:
        hint = "list at least one" if kind == "too_short" else "write a text, or take the key out"
        return Found(Code.EMPTY, f"{name} must not be empty", hint)
    return Found(Code.WRONG_VALUE, f"{name} has a value that does not fit", "compare with the JSON Schema")


def _wrong_type(name: str, details: ErrorDetails) -> Found:
    given = details["input"]
    expected = _EXPECTED[details["type"]]
    if details["loc"] and details["loc"][-1] == "<long>":
        expected = f"a text or {expected}"
    hint = ""
    if given is None:
        hint = "take the key out, or give it a value"
    elif expected == "a text" and isinstance(given, int | float):
        hint = "put it in quotes"
    elif expected == "true or false":
        hint = "write `true` or `false`, without quotes"
    elif isinstance(given, str) and expected in {"a whole number", "a number"}:
        hint = "write it without quotes"
    elif isinstance(given, str) and expected == "a list":
        hint = "put it in brackets"
    elif isinstance(given, dict) and expected == "a list":
        hint = f"write {name.replace('`', '`[[', 1).removesuffix('`')}]]` with double brackets"
    return Found(Code.WRONG_TYPE, f"{name} must be {expected}, not {_kind_of(given)}", hint)


def _wrong_choice(name: str, listed: str, given: Any) -> Found:
    choices = re.findall(r"'([^']*)'", listed)
    shown = f"`{given}`" if isinstance(given, str) else _kind_of(given)
    near = nearest(given, choices) if isinstance(given, str) else None
    return Found(
        Code.WRONG_VALUE,
        f"{name} must be one of {', '.join(f'`{choice}`' for choice in choices)}, not {shown}",
        f"did you mean `{near}`?" if near else "choose one of them",
    )


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "a number with a fraction"
    if isinstance(value, int):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list | tuple) else "a table"
