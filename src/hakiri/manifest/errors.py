"""Errors of finding and changing manifests; what is wrong inside them is in `problems`."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place


class NoProject(HakiriError):
    """There is no `hakiri.toml` where one was looked for."""

    code = "manifest.no_project"
    exit_code = ExitCode.USAGE

    def __init__(self, folder: str) -> None:
        self.folder = folder
        super().__init__(f"no `hakiri.toml` in `{folder}`", hint="run `hakiri init` to make a project")


class UnknownPipeline(HakiriError):
    """No pipeline has this id."""

    code = "manifest.unknown_pipeline"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, *, nearest: str | None) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"no pipeline has the id `{pipeline}`",
            hint=f"did you mean `{nearest}`?" if nearest else "run `hakiri pipeline list` to see them all",
        )


class PipelineExists(HakiriError):
    """A pipeline of this id is there already."""

    code = "manifest.pipeline_exists"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, place: Place) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"pipeline `{pipeline}` exists already",
            places=[place],
            hint=f"change it with `hakiri pipeline edit {pipeline}`, or choose another id",
        )


class FileInTheWay(HakiriError):
    """The file that would be written exists and holds something else."""

    code = "manifest.file_in_the_way"
    exit_code = ExitCode.USAGE

    def __init__(self, file: str) -> None:
        super().__init__(f"`{file}` exists and would be overwritten", hint="move it away first")


class AlreadyThatFormat(HakiriError):
    """A conversion to the format in which the pipeline is written already."""

    code = "manifest.already_that_format"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, form: str, place: Place) -> None:
        self.pipeline = pipeline
        other = "toml" if form == "json" else "json"
        super().__init__(
            f"pipeline `{pipeline}` is written in {form.upper()} already",
            places=[place],
            hint=f"use `--to {other}` for the other form",
        )


class DefinitionsDiffer(HakiriError):
    """Several definitions of one pipeline do not say the same, so none can be dropped for the user."""

    code = "manifest.definitions_differ"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, places: Sequence[Place], differing: Sequence[str]) -> None:
        self.pipeline, self.differing = pipeline, tuple(differing)
        keys = ", ".join(f"`{key}`" for key in differing)
        super().__init__(
            f"the definitions of pipeline `{pipeline}` differ in {keys}",
            places=places,
            hint="delete the definitions that are wrong, then run it again",
        )


class NotInToml(HakiriError):
    """The pipeline holds a value that TOML cannot write."""

    code = "manifest.not_in_toml"
    exit_code = ExitCode.USAGE

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` is null, which TOML cannot write",
            hint="remove the key, or keep the pipeline in JSON",
        )


class BadChange(HakiriError):
    """A change that does not fit the pipeline it is meant for."""

    code = "manifest.bad_change"
    exit_code = ExitCode.USAGE
