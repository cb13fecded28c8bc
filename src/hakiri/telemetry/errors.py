"""What can be wrong with the settings of telemetry."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError


class BadOtlpSetting(HakiriError):
    """A variable of OpenTelemetry has a value that cannot be followed."""

    code = "telemetry.bad_setting"
    exit_code = ExitCode.USAGE

    def __init__(self, variable: str, why: str, *, hint: str) -> None:
        self.variable = variable
        super().__init__(f"`{variable}` {why}", hint=hint)
