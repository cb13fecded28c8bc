"""What can be wrong with SQL text, and where in it."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError


class BadSql(HakiriError):
    """The text is not SQL that becomes a plan. Lines and columns count from 1."""

    code = "transforms.bad_sql"
    exit_code = ExitCode.USAGE

    def __init__(self, problem: str, *, line: int, column: int, hint: str) -> None:
        self.problem, self.line, self.column = problem, line, column
        super().__init__(f"SQL, line {line}, column {column}: {problem}", hint=hint)
