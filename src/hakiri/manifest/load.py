"""Finding and loading a project: every file read, all pipelines merged by id, all problems at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from hakiri.core.canonical import canonical_json
from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.manifest.agreement import disagreements
from hakiri.manifest.definition import Definition
from hakiri.manifest.errors import NoProject, UnknownPipeline
from hakiri.manifest.explain import explain
from hakiri.manifest.fields import Strict
from hakiri.manifest.pipeline import DestinationSpec, PipelineSpec
from hakiri.manifest.problems import Code, Problem, duplicate_pipeline, invalid
from hakiri.manifest.read import Document, Form, Reading, read_document
from hakiri.manifest.sections import PipelineFile, ProjectFile

PROJECT_FILE = "hakiri.toml"
PIPELINE_FOLDER = "pipelines"
# A file with this at its end counts only while no other defines its pipeline; see `convert_pipeline`.
CONVERTING = ".converting"

_SETTINGS = ("engine", "context", "sync", "catalog", "encryption", "runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A manifest without problems: the project file and all pipelines, in the order of their ids."""

    root: Path
    file: ProjectFile
    document: Document
    definitions: Mapping[str, Definition]

    @property
    def name(self) -> str:
        return self.file.project.name

    @property
    def pipelines(self) -> tuple[PipelineSpec, ...]:
        return tuple(definition.valid_spec for definition in self.definitions.values())

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What the file says about each section of settings, and nothing that it leaves open."""
        whole = self.file.model_dump(mode="json", exclude_unset=True, include=set(_SETTINGS))
        return {section: values for section, values in whole.items() if values}

    def setting_places(self) -> dict[str, Place]:
        """Where each setting is written in the file, by its dotted key: `engine.master`."""
        spots = self.document.spots()
        return {
            ".".join(map(str, path)): self.document.place(path, spots)
            for path in spots
            if len(path) > 1 and path[0] in _SETTINGS
        }

    def pipeline(self, pipeline_id: str) -> PipelineSpec:
        """The pipeline of this id; raises UnknownPipeline, with the nearest one that there is."""
        return self._definition(pipeline_id).valid_spec

    def place_of(self, pipeline_id: str) -> Place:
        """Where the pipeline is defined, as `file:line`."""
        return self._definition(pipeline_id).place()

    def place_in(self, pipeline_id: str, *path: str | int) -> Place:
        """Where something of the pipeline is written: `"tables", 0, "expect", 2`."""
        return self._definition(pipeline_id).place(path)

    def form_of(self, pipeline_id: str) -> Form:
        """In which format the pipeline is written."""
        return self._definition(pipeline_id).document.form

    def destination_of(self, pipeline: PipelineSpec, default: str | None = None) -> DestinationSpec:
        """Where the pipeline writes: its own destination, else `default`, else the project's default."""
        if pipeline.destination is not None:
            return pipeline.destination
        return DestinationSpec(connector=default or self.file.context.default_destination or "context")

    def _definition(self, pipeline_id: str) -> Definition:
        if pipeline_id not in self.definitions:
            raise UnknownPipeline(pipeline_id, nearest=nearest(pipeline_id, self.definitions))
        return self.definitions[pipeline_id]


@dataclass(slots=True)
class Scan:
    """Everything that was found in a project, right or wrong."""

    file: ProjectFile | None = None
    document: Document | None = None
    definitions: list[Definition] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def by_id(self) -> dict[str, list[Definition]]:
        """All definitions of each id, in the order of the ids."""
        grouped: dict[str, list[Definition]] = {}
        for definition in self.definitions:
            grouped.setdefault(definition.id, []).append(definition)
        return {pipeline_id: grouped[pipeline_id] for pipeline_id in sorted(grouped)}


def load_project(root: Path) -> Project:
    """Load and check the whole manifest; raises ManifestInvalid with every problem of every file."""
    scan = scan_project(root)
    problems = [*scan.problems, *_duplicates(scan)]
    if not problems:
        problems = disagreements(scan.definitions)
    if problems or scan.file is None or scan.document is None:
        raise invalid(problems)
    definitions = {pipeline_id: found[0] for pipeline_id, found in scan.by_id().items()}
    return Project(
        root=root, file=scan.file, document=scan.document, definitions=MappingProxyType(definitions)
    )


def scan_project(root: Path) -> Scan:
    """Read every file of the manifest, keeping what is right beside what is wrong.

    A pipeline that is defined twice is in the definitions twice, and not yet a problem.
    """
    if not os.path.lexists(root / PROJECT_FILE):
        raise NoProject(str(root))
    scan = Scan()
    _take_project_file(scan, read_document(root, PROJECT_FILE, "toml"))
    for file, form in _pipeline_files(root, scan):
        _take_pipeline_file(scan, read_document(root, file, form))
    defined = {definition.id for definition in scan.definitions if not definition.is_converting}
    scan.definitions = [d for d in scan.definitions if not d.is_converting or d.id not in defined]
    return scan


def check_text(reading: Reading) -> Scan:
    """What one file of `pipelines/`, or the project file, holds by itself."""
    scan = Scan()
    is_project = reading.document is not None and reading.document.file == PROJECT_FILE
    (_take_project_file if is_project else _take_pipeline_file)(scan, reading)
    return scan


def _pipeline_files(root: Path, scan: Scan) -> Iterator[tuple[str, Form]]:
    """The files of `pipelines/` that hold a pipeline, by name."""
    try:
        names = sorted(os.listdir(root / PIPELINE_FOLDER))
    except FileNotFoundError:
        return
    except OSError as error:
        scan.problems.append(
            Problem(
                code=Code.UNREADABLE,
                place=Place(PIPELINE_FOLDER),
                message=f"the folder `{PIPELINE_FOLDER}` cannot be read ({error.strerror})",
                hint="make it a folder that this user may read",
            )
        )
        return
    for name in names:
        stem, _, ending = name.removesuffix(CONVERTING).rpartition(".")
        if name.startswith(".") or stem.endswith(".transforms"):
            continue
        if ending == "toml":
            yield f"{PIPELINE_FOLDER}/{name}", "toml"
        elif ending == "json":
            yield f"{PIPELINE_FOLDER}/{name}", "json"


def _take_project_file(scan: Scan, reading: Reading) -> None:
    scan.problems += reading.problems
    scan.document = reading.document
    if reading.document is None:
        return
    checked = _validated(scan, reading, reading.document, ProjectFile)
    if isinstance(checked, ProjectFile):
        scan.file = checked
    _take_blocks(scan, reading.document, checked.pipeline if isinstance(checked, ProjectFile) else None)


def _take_pipeline_file(scan: Scan, reading: Reading) -> None:
    scan.problems += reading.problems
    document = reading.document
    if document is None:
        return
    if document.form == "toml" and "pipeline" in document.data:
        checked = _validated(scan, reading, document, PipelineFile)
        _take_blocks(scan, document, checked.pipeline if isinstance(checked, PipelineFile) else None)
        blocks = document.data["pipeline"]
        if isinstance(blocks, list) and len(blocks) > 1:
            scan.problems.append(
                Problem(
                    code=Code.ONE_PIPELINE_A_FILE,
                    place=document.place(("pipeline", 1)),
                    path="pipeline[1]",
                    message=f"`{document.file}` holds {len(blocks)} pipelines, but a file here holds one",
                    hint="give each pipeline a file of its own, or move them all to `hakiri.toml`",
                )
            )
        return
    spec = _validated(scan, reading, document, PipelineSpec)
    _take_definition(scan, document, (), document.data, spec if isinstance(spec, PipelineSpec) else None)


def _validated(scan: Scan, reading: Reading, document: Document, model: type[Strict]) -> Strict | None:
    try:
        checked = model.model_validate_json(canonical_json(document.data))
    except ValidationError as error:
        found = explain(error, document, model, reading.spoilt)
        scan.problems += sorted(found, key=lambda problem: (problem.place.line or 0, problem.path))
        return None
    return None if reading.problems else checked


def _take_blocks(scan: Scan, document: Document, specs: tuple[PipelineSpec, ...] | None) -> None:
    blocks = document.data.get("pipeline", [])
    for number, data in enumerate(blocks if isinstance(blocks, list) else []):
        _take_definition(scan, document, ("pipeline", number), data, specs[number] if specs else None)


def _take_definition(
    scan: Scan, document: Document, path: tuple[str | int, ...], data: Any, spec: PipelineSpec | None
) -> None:
    written = data.get("id") if isinstance(data, dict) else None
    if isinstance(written, str) and written:
        is_converting = document.file.endswith(CONVERTING)
        scan.definitions.append(
            Definition(
                id=written, document=document, path=path, data=data, spec=spec, is_converting=is_converting
            )
        )


def _duplicates(scan: Scan) -> list[Problem]:
    return [
        duplicate_pipeline(pipeline_id, [definition.place() for definition in found])
        for pipeline_id, found in scan.by_id().items()
        if len(found) > 1
    ]
