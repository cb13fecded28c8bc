"""What the connector `singer` takes in `source.config`: a tap, and what the tap itself takes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from hakiri.core.grammar import Duration
from hakiri.manifest.fields import DurationText, OrShort, SourceTable
from hakiri.sources.config import SourceConfig, Template, refuse_value
from hakiri.sources.singer.credentials import place_of_secret

_BY_NAME = "write `${NAME}` in its place, and NAME in the pipeline's `secrets`"


def _alone(tap: str) -> tuple[str, ...]:
    return (tap,)


def _templated(config: dict[str, Any]) -> dict[str, Any]:
    place = place_of_secret(config)
    if place is not None:
        refuse_value(f"holds a secret that is written out, at `{place}`", _BY_NAME)
    return {key: _with_templates(value) for key, value in config.items()}


def _with_templates(value: Any) -> Any:
    if isinstance(value, str):
        return Template(value)
    if isinstance(value, list):
        return [_with_templates(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_templates(item) for key, item in value.items()}
    return value


class SingerConfig(SourceConfig):
    """One tap."""

    tap: Annotated[tuple[str, ...], Field(min_length=1), OrShort(_alone)] = Field(
        description="The tap: its name, its path from the project's folder, or a list with arguments.",
        examples=["taps/github/bin/tap-github"],
    )
    config: Annotated[dict[str, Template | Any], AfterValidator(_templated)] = Field(
        {}, description="The tap's own config. Any text in it may hold `${NAME}`."
    )
    env: dict[str, Template] = Field(
        {}, description="Variables that the tap sees; of those of the caller it sees none."
    )
    catalog: str | None = Field(
        None, description="A file with the tap's catalog, from the project's folder, instead of discovery."
    )
    discovery: bool = Field(
        default=True, description="Write false for a tap that cannot list its streams: it is run to see them."
    )
    properties: bool = Field(
        default=False, description="Write true for an old tap, which takes its catalog with --properties."
    )
    select: dict[SourceTable, tuple[str, ...]] = Field(
        {}, description="By stream, the only properties that are wanted beside the tap's own keys."
    )
    metadata: dict[SourceTable, dict[str, Any]] = Field(
        {}, description="By stream, what its metadata in the catalog must say, as replication-method."
    )
    timeout: DurationText = Field(
        Duration.parse("10m"), description="A tap that writes nothing at all for so long is ended."
    )

    @field_validator("tap")
    @classmethod
    def _tells_no_secret(cls, tap: tuple[str, ...]) -> tuple[str, ...]:
        if not tap[0].strip():
            refuse_value("is empty", "write the name of the tap, or its path from the project's folder")
        if any(Template(part).names for part in tap):
            refuse_value("holds a secret, which everybody on the machine would see", "write it in `config`")
        return tap

    @field_validator("env")
    @classmethod
    def _has_variables(cls, env: dict[str, Template]) -> dict[str, Template]:
        for name, value in env.items():
            if not name or "=" in name or "\0" in name + value.text:
                refuse_value(f"has no variable of the name `{name}`", "write it as in `{ TZ = 'UTC' }`")
            if place_of_secret(value, name, name):
                refuse_value(f"holds a secret that is written out, at `{name}`", _BY_NAME)
        return env

    @field_validator("timeout")
    @classmethod
    def _has_a_length(cls, timeout: Duration) -> Duration:
        if timeout.months:
            refuse_value("has months, which have no fixed length", "write it as in `10m` or `2h`")
        return timeout
