"""What can be wrong with a source before a row is read."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place


class UnknownConnector(HakiriError):
    code = "sources.unknown_connector"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, known: Sequence[str], place: Place) -> None:
        self.connector = connector
        super().__init__(
            f"there is no connector `{connector}` in this version",
            places=[place],
            hint=f"use one of: {', '.join(known)}",
        )


class BadSourceConfig(HakiriError):
    code = "sources.bad_config"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, problem: str, place: Place, *, hint: str) -> None:
        self.connector = connector
        super().__init__(
            f"the config of connector `{connector}` is wrong: {problem}", places=[place], hint=hint
        )


class NoFiles(HakiriError):
    code = "sources.no_files"

    def __init__(self, pattern: str, place: Place) -> None:
        self.pattern = pattern
        super().__init__(
            f"no file matches `{pattern}`",
            places=[place],
            hint="check `path` in the source's config; it starts at the project's folder",
        )


class UnreadableFile(HakiriError):
    """A file is there, and what is in it cannot be read as what the source says it is."""

    code = "sources.unreadable_file"

    def __init__(self, file: str, problem: str, place: Place) -> None:
        self.file = file
        super().__init__(
            f"`{file}` cannot be read: {problem}",
            places=[place],
            hint="mend or remove the file; --verbose shows Spark's whole message",
        )
