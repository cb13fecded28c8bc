"""What can be wrong with an author's file."""

from __future__ import annotations

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

    def __init__(self, place: Place, pipeline: str, problem: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the transform of pipeline `{pipeline}` failed: {problem}",
            places=[place],
            hint="mend that line; --verbose shows the whole traceback",
        )
