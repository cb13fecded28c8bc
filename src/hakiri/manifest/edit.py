"""Creating, changing and converting pipelines in their files. Checked first, then written in one step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hakiri.core.canonical import canonical_json
from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.manifest.changes import REMOVE, changed, is_there, parse_path, resolve, without_empty
from hakiri.manifest.definition import Definition
from hakiri.manifest.errors import BadChange, FileInTheWay, PipelineExists, UnknownPipeline
from hakiri.manifest.explain import explain
from hakiri.manifest.files import sync_folder, write_text_atomically
from hakiri.manifest.json_edit import json_document, json_remove, json_set
from hakiri.manifest.layout import KeyPath, dotted
from hakiri.manifest.load import CONVERTING, PIPELINE_FOLDER, PROJECT_FILE, Scan, check_text, scan_project
from hakiri.manifest.pipeline import SCHEMA_URL, PipelineSpec, dump_pipeline
from hakiri.manifest.problems import duplicate_pipeline, invalid
from hakiri.manifest.read import Document, Form, Reading, read_document, read_text
from hakiri.manifest.toml_edit import newline_of, toml_remove, toml_set
from hakiri.manifest.toml_text import toml_block


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A pipeline after a change, and the file that holds it, with its text before and after."""

    path: Path
    spec: PipelineSpec
    before: str
    after: str

    @property
    def is_changed(self) -> bool:
        """False if the file said all of it already."""
        return self.before != self.after


def parse_pipeline(data: Mapping[str, Any], *, origin: str = "command line") -> PipelineSpec:
    """A pipeline from plain values that stand in no file; raises ManifestInvalid with the origin as place."""
    plain = dict(data)
    try:
        return PipelineSpec.model_validate_json(canonical_json(plain))
    except ValidationError as error:
        document = Document(file=origin, form="json", text=json_document(plain), data=plain)
        problems = [replace(found, place=Place(origin)) for found in explain(error, document, PipelineSpec)]
        raise invalid(problems) from None


def create_pipeline(root: Path, spec: PipelineSpec, form: Form = "json") -> Path:
    """Write a new pipeline: to `pipelines/<id>.json`, or as TOML to the end of `hakiri.toml`.

    Raises PipelineExists, and writes nothing unless the result loads.
    """
    finish_conversions(root)
    existing = scan_project(root).by_id().get(spec.id)
    if existing:
        raise PipelineExists(spec.id, existing[0].place())
    data = dump_pipeline(spec)
    if form == "toml":
        return _append_block(root, toml_block(data, "pipeline"))
    path = root / PIPELINE_FOLDER / f"{spec.id}.json"
    if os.path.lexists(path):
        raise FileInTheWay(f"{PIPELINE_FOLDER}/{spec.id}.json")
    path.parent.mkdir(exist_ok=True)
    write_text_atomically(path, json_document({"$schema": SCHEMA_URL, **data}))
    return path


def edit_pipeline(root: Path, pipeline_id: str, changes: Mapping[str, Any]) -> Edited:
    """Change keys of a pipeline where it stands; `REMOVE` as a value takes a key out.

    Format, comments, order and every byte that is not part of a change stay as they are. Raises
    UnknownPipeline, BadChange, or ManifestInvalid when the result would be wrong; then nothing is written.
    """
    finish_conversions(root)
    scan = scan_project(root)
    definition = only_definition(scan, pipeline_id)
    document = definition.document
    text, data = document.text, document.data
    for dotted_path, value in changes.items():
        inner, new = _fitted(_at(data, definition.path), parse_path(dotted_path), value)
        path = (*definition.path, *inner)
        text, data = _EDITS[document.form](text, path, new), changed(data, path, new)
    reading = read_text(document.file, document.form, text)
    if reading.document is None or without_empty(reading.document.data) != without_empty(data):
        raise BadChange(
            f"pipeline `{pipeline_id}` cannot be changed this way without rewriting its file",
            hint=f"edit `{document.file}` by hand",
        )
    spec = _checked_spec(scan, definition, reading)
    edited = Edited(path=root / document.file, spec=spec, before=document.text, after=text)
    if edited.is_changed:
        write_text_atomically(edited.path, text)
    return edited


def only_definition(scan: Scan, pipeline_id: str) -> Definition:
    """The one definition of this id; raises what stands in the way of knowing it."""
    by_id = scan.by_id()
    found = by_id.get(pipeline_id, [])
    if len(found) > 1:
        raise invalid([duplicate_pipeline(pipeline_id, [definition.place() for definition in found])])
    if found:
        return found[0]
    if scan.problems:
        raise invalid(scan.problems)
    raise UnknownPipeline(pipeline_id, nearest=nearest(pipeline_id, by_id))


def finish_conversions(root: Path) -> None:
    """Bring conversions that were interrupted to their end, one way or the other."""
    folder = root / PIPELINE_FOLDER
    pending = sorted(folder.glob(f"*{CONVERTING}"))
    if not pending:
        return
    counting = {definition.document.file for definition in scan_project(root).definitions}
    for path in pending:
        final = path.with_name(path.name.removesuffix(CONVERTING))
        if f"{PIPELINE_FOLDER}/{path.name}" in counting and not os.path.lexists(final):
            os.replace(path, final)
        else:
            path.unlink()
    sync_folder(folder)


def _append_block(root: Path, block: str) -> Path:
    reading = read_document(root, PROJECT_FILE, "toml")
    if reading.document is None:
        raise invalid(reading.problems)
    text = reading.document.text
    newline = newline_of(text)
    gap = newline if text.endswith("\n") else newline * 2
    longer = text + gap + block.replace("\n", newline)
    after = read_text(PROJECT_FILE, "toml", longer)
    if after.document is None:
        raise BadChange(
            f"`{PROJECT_FILE}` writes its pipelines in a way that a block cannot be added to",
            hint="use `--format json`",
        )
    problems = check_text(after).problems
    if problems:
        raise invalid(problems)
    write_text_atomically(root / PROJECT_FILE, longer)
    return root / PROJECT_FILE


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _fitted(pipeline: dict[str, Any], path: KeyPath, value: Any) -> tuple[KeyPath, Any]:
    """The change as it can be made in this pipeline; raises BadChange if it cannot."""
    match resolve(pipeline, path):
        case ("tables", int(number), key, *rest) if isinstance(pipeline["tables"][number], str):
            # A table that is only a name becomes an object, to have room for more.
            table = {"name": pipeline["tables"][number]}
            return ("tables", number), changed(table, (key, *rest), value)
        case found:
            if value is REMOVE and not is_there(pipeline, found):
                raise BadChange(f"there is no `{dotted(found)}` to remove", hint="look at what is there")
            return found, value


def _edit_toml(text: str, path: KeyPath, value: Any) -> str:
    return toml_remove(text, path) if value is REMOVE else toml_set(text, path, value)


def _edit_json(text: str, path: KeyPath, value: Any) -> str:
    return json_remove(text, path) if value is REMOVE else json_set(text, path, value)


_EDITS = {"toml": _edit_toml, "json": _edit_json}


def _checked_spec(scan: Scan, definition: Definition, reading: Reading) -> PipelineSpec:
    """The changed pipeline; raises when it is wrong, or has taken the id of another one."""
    after = check_text(reading)
    if after.problems:
        raise invalid(after.problems)
    spec = next(d.valid_spec for d in after.definitions if d.path == definition.path)
    taken = [
        *(d for d in scan.definitions if d.document.file != definition.document.file and d.id == spec.id),
        *(d for d in after.definitions if d.path != definition.path and d.id == spec.id),
    ]
    if taken:
        raise PipelineExists(spec.id, taken[0].place())
    return spec
