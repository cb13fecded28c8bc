"""What can be wrong with an author's file."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place


class BrokenTransform(HakiriError):
    code = "transforms.broken_file"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(f"the transform cannot be loaded: {problem}", places=[place], hint="mend the file")


class UnknownPipelineInTransform(HakiriError):
    code = "transforms.unknown_pipeline"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str, meant: str | None) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the transform is for pipeline `{pipeline}`, which the manifest does not define",
            places=[place],
            hint=f"did you mean `{meant}`?" if meant else "name a pipeline of the manifest",
        )


class TransformFailed(HakiriError):
    """The author's function raised, or gave something that Spark refuses."""

    code = "transforms.failed"

    def __init__(
        self,
        place: Place,
        pipeline: str,
        problem: str,
        *,
        hint: str = "mend that line; --verbose shows the whole traceback",
    ) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the transform of pipeline `{pipeline}` failed: {problem}", places=[place], hint=hint
        )


class UnknownTable(HakiriError):
    code = "transforms.unknown_table"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str, table: str, meant: str | None) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(
            f"the transform is for table `{table}`, which pipeline `{pipeline}` does not pull",
            places=[place],
            hint=f"did you mean `{meant}`?" if meant else "name a table of the pipeline",
        )


class UnknownReference(HakiriError):
    code = "transforms.unknown_reference"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str, name: str, meant: str | None) -> None:
        self.pipeline, self.name = pipeline, name
        super().__init__(
            f"the transform asks for reference table `{name}`, which pipeline `{pipeline}` does not declare",
            places=[place],
            hint=f"did you mean `{meant}`?"
            if meant
            else f'declare it in the pipeline: references = {{ {name} = "data/{name}.csv" }}',
        )


class InputReadTwice(HakiriError):
    """A source is read once; a plan that names the input twice would read it twice."""

    code = "transforms.input_read_twice"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the transform of pipeline `{pipeline}` reads its input more than once",
            places=[place],
            hint="use a window function in place of a join of the rows with themselves, "
            "and unpivot or explode in place of a union",
        )


class TransformMissing(HakiriError):
    """A transform that is not compiled."""

    code = "transforms.not_compiled"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the transform of pipeline `{pipeline}` is not compiled",
            places=[place],
            hint="run `hakiri compile`, and commit the file it writes",
        )


class TransformStale(HakiriError):
    """The author's file has changed since it was compiled."""

    code = "transforms.stale"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, pipeline: str, sources: tuple[str, ...]) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the compiled transform of pipeline `{pipeline}` is older than {', '.join(sources)}",
            places=[place],
            hint="run `hakiri compile`, and commit the file it writes",
        )


class BrokenArtifact(HakiriError):
    code = "transforms.broken_artifact"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(
            f"the compiled transform cannot be read: {problem}",
            places=[place],
            hint="write it anew with `hakiri compile`",
        )


class OtherEngine(HakiriError):
    """A plan that was made for something other than this Spark."""

    code = "transforms.other_engine"
    exit_code = ExitCode.USAGE

    def __init__(self, place: Place, engine: str, version: str) -> None:
        super().__init__(
            f"the compiled transform is a plan for {engine} {version}, which this Hakiri does not run",
            places=[place],
            hint="write it anew with `hakiri compile`",
        )


class NoTransformFile(HakiriError):
    code = "transforms.no_such_file"
    exit_code = ExitCode.USAGE

    def __init__(self, name: str, meant: str | None, known: Sequence[str]) -> None:
        self.name = name
        listed = f"there are {', '.join(known)}" if known else "there is no file in `transforms/`"
        super().__init__(
            f"`{name}` is no transform of this project", hint=f"did you mean `{meant}`?" if meant else listed
        )
