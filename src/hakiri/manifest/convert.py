"""Writing a pipeline in the other format, and taking the old definition away."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

from hakiri.core.canonical import canonical_json
from hakiri.core.errors import Place
from hakiri.manifest.definition import Definition
from hakiri.manifest.edit import finish_conversions, only_definition
from hakiri.manifest.errors import AlreadyThatFormat, BadChange, DefinitionsDiffer, FileInTheWay
from hakiri.manifest.files import sync_folder, write_text_atomically
from hakiri.manifest.json_edit import json_document
from hakiri.manifest.load import CONVERTING, PIPELINE_FOLDER, PROJECT_FILE, check_text, scan_project
from hakiri.manifest.pipeline import SCHEMA_URL, PipelineSpec, dump_pipeline
from hakiri.manifest.problems import invalid
from hakiri.manifest.read import Form, read_text
from hakiri.manifest.toml_edit import toml_comments, toml_comments_of, toml_remove
from hakiri.manifest.toml_text import toml_block


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Where the pipeline is now, where it was, and the comments that JSON could not take along."""

    path: Path
    was: tuple[Place, ...]
    lost_comments: tuple[str, ...]


def convert_pipeline(root: Path, pipeline_id: str, to: Form) -> Converted:
    """Write the pipeline to `pipelines/<id>.json` or `pipelines/<id>.toml`, and remove the old definition.

    At no moment is the pipeline defined twice or not at all, also if the process is killed: the new file is
    first written under a name that counts only while nothing else defines the pipeline; removing the old
    definition is what makes it count; then it gets its final name. Any later change finishes what was left.

    Several equal definitions become one, which is how a duplicate is put right; DefinitionsDiffer otherwise.
    """
    finish_conversions(root)
    olds, kept = _olds_and_kept(root, pipeline_id, to)
    final = root / PIPELINE_FOLDER / f"{pipeline_id}.{to}"
    result = Converted(
        path=root / kept.document.file if kept else final,
        was=tuple(old.place() for old in olds),
        lost_comments=tuple(comment for old in olds for comment in _comments_of(old)) if to == "json" else (),
    )
    texts = _texts_without(olds)
    if kept is not None:
        _remove(root, texts)
        return result
    if os.path.lexists(final):
        raise FileInTheWay(f"{PIPELINE_FOLDER}/{final.name}")
    pending = final.with_name(final.name + CONVERTING)
    written = _written(olds[0], to)
    final.parent.mkdir(exist_ok=True)
    write_text_atomically(pending, written)
    _remove(root, texts)
    os.replace(pending, final)
    sync_folder(final.parent)
    return result


def _olds_and_kept(root: Path, pipeline_id: str, to: Form) -> tuple[list[Definition], Definition | None]:
    """The definitions that go, and the one in the wanted format that stays, if there is one."""
    scan = scan_project(root)
    found = scan.by_id().get(pipeline_id) or [only_definition(scan, pipeline_id)]
    if any(definition.spec is None for definition in found):
        files = {definition.document.file for definition in found}
        raise invalid([problem for problem in scan.problems if problem.place.file in files])
    fitting = [definition for definition in found if definition.document.form == to]
    if len(found) == 1 and fitting:
        raise AlreadyThatFormat(pipeline_id, to, fitting[0].place())
    differing = _differing([definition.valid_spec for definition in found])
    if differing:
        raise DefinitionsDiffer(pipeline_id, [definition.place() for definition in found], differing)
    # A block of `hakiri.toml` goes before a file does: what has a file of its own is easier to find.
    fitting.sort(key=lambda definition: definition.document.file == PROJECT_FILE)
    kept = fitting[0] if fitting else None
    return [definition for definition in found if definition is not kept], kept


def _differing(specs: Sequence[PipelineSpec]) -> list[str]:
    first = specs[0]
    if all(spec == first for spec in specs):
        return []
    dumps = [dump_pipeline(spec) for spec in specs]
    keys = dict.fromkeys(key for dump in dumps for key in dump)
    return [key for key in keys if any(dump.get(key) != dumps[0].get(key) for dump in dumps)]


def _written(old: Definition, to: Form) -> str:
    """The text of the new file, which says exactly what the old definition said."""
    data = {key: value for key, value in _plain(old.data).items() if key != "$schema"}
    if to == "json":
        text = json_document({"$schema": SCHEMA_URL, **data})
    else:
        text = toml_block(_without_nulls(data), "")
    check = check_text(read_text(f"{PIPELINE_FOLDER}/{old.id}.{to}", to, text))
    if check.problems or check.definitions[0].spec != old.spec:
        raise BadChange(
            f"pipeline `{old.id}` would not be the same in {to.upper()}",
            hint="convert it by hand, and report this",
        )
    return text


def _texts_without(olds: Sequence[Definition]) -> dict[str, str | None]:
    """The files of these definitions without them; None where the file holds nothing else and goes."""
    texts: dict[str, str | None] = {}
    # The later of two blocks of one file first, because taking one out renumbers those behind it.
    for old in sorted(olds, key=lambda old: old.path[-1:], reverse=True):
        file = old.document.file
        if file != PROJECT_FILE:
            texts[file] = None
            continue
        text = texts.get(file) or old.document.text
        shorter = toml_remove(text, old.path)
        before, after = (check_text(read_text(file, "toml", each)) for each in (text, shorter))
        left = [d.spec for d in before.definitions if d.path != old.path]
        if after.problems or [d.spec for d in after.definitions] != left:
            raise BadChange(
                f"pipeline `{old.id}` cannot be taken out of `{file}`",
                hint="move it by hand, and report this",
            )
        texts[file] = shorter
    return texts


def _remove(root: Path, texts: dict[str, str | None]) -> None:
    for file, text in texts.items():
        if text is None:
            (root / file).unlink()
            sync_folder((root / file).parent)
        else:
            write_text_atomically(root / file, text)


def _comments_of(old: Definition) -> tuple[str, ...]:
    document = old.document
    if document.form == "json":
        return ()
    return (
        toml_comments_of(document.text, old.path)
        if document.file == PROJECT_FILE
        else toml_comments(document.text)
    )


def _plain(value: Any) -> Any:
    """The value with the dates and times of TOML as the texts that they mean, the order kept."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return canonical_json(value).strip('"') if isinstance(value, date | time) else value


def _without_nulls(value: Any) -> Any:
    """An optional key that is null says what its absence says; in a connector's config it may say more."""
    if isinstance(value, dict):
        return {
            key: item if key == "config" else _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
