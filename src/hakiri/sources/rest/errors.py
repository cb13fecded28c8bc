"""What an API can say that others than the user must know apart."""

from __future__ import annotations

from hakiri.sources.errors import PermanentFailure


class AskRefused(PermanentFailure):
    """The API does not do what it is asked. `status` is that of HTTP."""

    code = "sources.ask_refused"

    def __init__(self, problem: str, *, status: int, hint: str = "") -> None:
        self.status = status
        super().__init__(problem, hint=hint)
