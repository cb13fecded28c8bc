"""What is refused about the columns and keys of tables."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError


class SchemaIncompatible(HakiriError):
    """What a pipeline brings does not fit the table, and nobody has decided what to do about it."""

    code = "pipelines.schema_incompatible"

    def __init__(self, table: str, pipeline: str, reasons: Sequence[str], ways_out: Sequence[str]) -> None:
        self.table, self.pipeline, self.reasons = table, pipeline, tuple(reasons)
        super().__init__(
            f"table `{table}` cannot take what pipeline `{pipeline}` brings now: {'; '.join(reasons)}",
            hint="; ".join(ways_out),
        )


class KeyImpossible(HakiriError):
    """Columns that cannot be the primary key of a table."""

    code = "pipelines.key_impossible"
    exit_code = ExitCode.USAGE

    def __init__(self, problem: str, known: Sequence[str]) -> None:
        super().__init__(
            f"these columns cannot be a primary key: {problem}", hint=f"choose among {', '.join(known)}"
        )


class SchemasDiverged(HakiriError):
    """Two histories of one table that cannot be made one without a choice."""

    code = "pipelines.schemas_diverged"

    def __init__(self, table: str, reasons: Sequence[str], hint: str) -> None:
        self.table, self.reasons = table, tuple(reasons)
        super().__init__(
            f"the two schemas of table `{table}` do not go together: {'; '.join(reasons)}", hint=hint
        )


class NoSchemaYet(HakiriError):
    """A table that has no schema in the catalog."""

    code = "pipelines.no_schema_yet"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, location: str) -> None:
        self.table = table
        super().__init__(
            f"table `{table}` has no schema in the catalog `{location}`",
            hint="run a pipeline that fills it first",
        )


class NothingRefused(HakiriError):
    """A column of which nothing is refused."""

    code = "pipelines.nothing_refused"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, columns: Sequence[str], refused: Sequence[str]) -> None:
        self.pipeline, self.columns = pipeline, tuple(columns)
        named = ", ".join(f"`{each}`" for each in columns)
        super().__init__(
            f"nothing that pipeline `{pipeline}` brings to {named} is refused",
            hint=f"refused is {', '.join(refused)}" if refused else "see `hakiri schema log` for what was",
        )
