"""What can be wrong with a source before a row is read."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place


class UnknownConnector(HakiriError):
    code = "sources.unknown_connector"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, known: Sequence[str], places: Sequence[Place] = ()) -> None:
        self.connector = connector
        super().__init__(
            f"there is no connector `{connector}` in this version",
            places=places,
            hint=f"use one of: {', '.join(known)}",
        )


class BadSourceConfig(HakiriError):
    code = "sources.bad_config"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, problem: str, *, hint: str, places: Sequence[Place] = ()) -> None:
        self.connector = connector
        super().__init__(
            f"the config of connector `{connector}` is wrong: {problem}", places=places, hint=hint
        )


class NoFiles(HakiriError):
    code = "sources.no_files"

    def __init__(self, pattern: str, places: Sequence[Place] = ()) -> None:
        self.pattern = pattern
        super().__init__(
            f"no file matches `{pattern}`",
            places=places,
            hint="check `path` in the source's config; it starts at the project's folder",
        )
