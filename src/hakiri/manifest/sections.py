"""The project file: its own sections, and the pipelines that stand in it.

The sections hold only what the file says. Defaults, flags and the environment are put over them by
`hakiri.core.settings`, so every setting is optional here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, TypeAdapter, ValidationError

from hakiri.core.settings.values import hidden_in_url
from hakiri.manifest.fields import (
    ConnectorName,
    DurationText,
    Found,
    KeySource,
    NodeName,
    ProjectName,
    SizeText,
    Strict,
    VariableName,
    refuse,
)
from hakiri.manifest.pipeline import MOST_CHUNKS, EditorSchema, PipelineSpec
from hakiri.manifest.problems import Code


@dataclass(frozen=True, slots=True)
class _WithoutSecret:
    """An address must not hold a password or a token; the whole of it can come from this variable."""

    variable: str

    def __call__(self, url: str) -> str:
        if hidden_in_url(url):
            refuse(
                Found(
                    Code.CREDENTIAL,
                    "this address holds a secret, which does not belong in a file",
                    f"take it out, and set {self.variable} in the environment",
                )
            )
        return url


def _passed_on(conf: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Spark takes texts, numbers and flags; tables are what unquoted dots make of them in TOML."""
    found: list[Found] = []
    waiting: list[tuple[tuple[str, ...], JsonValue]] = [((), conf)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items()]
        elif value is None or isinstance(value, list):
            kind = "null" if value is None else "a list"
            found.append(
                Found(
                    Code.WRONG_TYPE,
                    f"a Spark setting must be a text, a number, true or false, not {kind}",
                    "write it as one text, as Spark expects it",
                    path,
                )
            )
    if found:
        refuse(*found)
    return conf


_Master = Annotated[str, Field(min_length=1), AfterValidator(_WithoutSecret("HAKIRI_ENGINE_MASTER"))]
_Endpoint = Annotated[str, Field(min_length=1), AfterValidator(_WithoutSecret("HAKIRI_SYNC_ENDPOINT"))]
_CatalogUrl = Annotated[str, Field(min_length=1), AfterValidator(_WithoutSecret("HAKIRI_CATALOG_URL"))]


class ProjectSection(Strict):
    """What the project is called."""

    name: ProjectName = Field(
        description="The project's name; its store is in a folder of this name.", examples=["my-warehouse"]
    )
    version: str | None = Field(
        None, min_length=1, description="The version of the project.", examples=["0.1.0"]
    )
    description: str | None = Field(None, description="What the project is for.")


def why_no_project_name(name: str) -> str | None:
    """What keeps this text from being the name of a project, or None when nothing does."""
    try:
        TypeAdapter(ProjectName).validate_python(name)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return None


class EngineSection(Strict):
    """How Spark is started and reached."""

    master: _Master | None = Field(
        None,
        description="Where Spark runs: `local[*]`, `spark://…`, `sc://…`, `k8s://…` or `yarn`.",
        examples=["local[*]", "spark://master:7077", "sc://host:15002"],
    )
    conf: Annotated[dict[str, JsonValue], AfterValidator(_passed_on)] = Field(
        {}, description="Spark settings that are passed on as they are."
    )
    driver_memory: SizeText | None = Field(None, description="Memory of the local Spark server.")
    idle_timeout: DurationText | None = Field(
        None, description="How long the warm server waits for work before it stops."
    )
    archive: bool | None = Field(None, description="Make and use a class-data archive for a faster start.")
    java: str | None = Field(None, min_length=1, description="The Java to use: a home folder or a program.")
    python: str | None = Field(None, min_length=1, description="The Python that Spark's workers use.")
    env: tuple[VariableName, ...] | None = Field(
        None,
        description="Variables of the environment that Spark may see, beside the usual ones.",
        examples=[["AWS_PROFILE", "HTTPS_PROXY"]],
    )


class ContextSection(Strict):
    """Where the context store is."""

    path: str | None = Field(
        None, min_length=1, description="The folder of the context store.", examples=[".hakiri/context"]
    )
    default_destination: ConnectorName | None = Field(
        None, description="Where a pipeline without a destination of its own writes.", examples=["context"]
    )
    rename: bool | None = Field(
        None,
        description="Whether the disk of the store renames folders in one step; a mounted bucket does not. "
        "Snapshots are copied to their places then.",
    )


class SyncSection(Strict):
    """The bucket that stores are shared through. Its credentials are never here.

    They come from HAKIRI_SYNC_KEY_ID and HAKIRI_SYNC_KEY_SECRET.
    """

    bucket: str | None = Field(
        None, min_length=1, description="The bucket.", examples=["r2://my-context", "s3://my-context"]
    )
    endpoint: _Endpoint | None = Field(
        None,
        description="The address of the object store.",
        examples=["https://accountid.r2.cloudflarestorage.com"],
    )
    region: str | None = Field(None, min_length=1, description="The region of the bucket.", examples=["auto"])
    mode: Literal["auto", "multi-writer", "single-writer"] | None = Field(
        None, description="Who may write to the bucket. Default: what the bucket can do."
    )


class CatalogSection(Strict):
    """Where the state is kept."""

    url: _CatalogUrl | None = Field(
        None,
        description="The URL of the catalog, without a password.",
        examples=["sqlite:///.hakiri/meta.sqlite", "postgresql://catalog.internal/hakiri"],
    )


class EncryptionSection(Strict):
    """Encryption at rest, which is on when there is a key."""

    key_source: KeySource | None = Field(None, description="Where the key comes from. Never the key itself.")


class RuntimeSection(Strict):
    """How a machine works through chunks."""

    max_parallel_chunks: int | None = Field(
        None,
        examples=[4],
        ge=1,
        le=MOST_CHUNKS,
        description="How many chunks one worker runs at once, over all pipelines.",
    )
    node: NodeName | None = Field(
        None,
        description="The name of this machine among those that share a catalog. Default: the host's name. "
        "Several machines read the same file, so HAKIRI_RUNTIME_NODE is mostly the better place.",
    )
    lease: DurationText | None = Field(
        None, description="How long a chunk belongs to a worker that gives no sign of life."
    )
    news_every: DurationText | None = Field(
        None, description="How often `hakiri serve` asks sources of pipelines without a schedule for news."
    )


class SigningKey(Strict):
    """A public key that tokens and audit roots may be signed with."""

    kid: str = Field(min_length=1, description="The key's id, which tokens carry.", examples=["k2"])
    pub: str = Field(min_length=1, description="The public key.", examples=["MCowBQYDK2VwAyEA…"])


def _distinct_kids(keys: tuple[SigningKey, ...]) -> tuple[SigningKey, ...]:
    kids = [key.kid for key in keys]
    found = [
        Found(
            Code.DUPLICATE,
            f"two signing keys have the id `{kid}`",
            "give each key its own `kid`",
            (number, "kid"),
        )
        for number, kid in enumerate(kids)
        if kid in kids[:number]
    ]
    if found:
        refuse(*found)
    return keys


class ProjectFile(Strict):
    """All that may stand in `hakiri.toml`."""

    schema_url: EditorSchema | None = Field(
        None, alias="$schema", exclude=True, description="For editors only; it means nothing to Hakiri."
    )
    project: ProjectSection = Field(description="What the project is called.")
    context: ContextSection = Field(ContextSection(), description="Where the context store is.")
    sync: SyncSection = Field(SyncSection(), description="The bucket that stores are shared through.")
    engine: EngineSection = Field(EngineSection(), description="How Spark is started and reached.")
    catalog: CatalogSection = Field(CatalogSection(), description="Where the state is kept.")
    encryption: EncryptionSection = Field(EncryptionSection(), description="Encryption at rest.")
    runtime: RuntimeSection = Field(RuntimeSection(), description="How a machine works through chunks.")
    signing_keys: Annotated[tuple[SigningKey, ...], AfterValidator(_distinct_kids)] = Field(
        (),
        description="Public keys that are accepted, the newest first. Rotation adds one, waits, removes one.",
    )
    pipeline: tuple[PipelineSpec, ...] = Field((), description="Pipelines that are written in this file.")


class PipelineFile(Strict):
    """All that may stand in a file of `pipelines/` that writes its pipeline as a `[[pipeline]]` block."""

    schema_url: EditorSchema | None = Field(
        None, alias="$schema", exclude=True, description="For editors only; it means nothing to Hakiri."
    )
    pipeline: tuple[PipelineSpec, ...] = Field(min_length=1, description="The one pipeline of this file.")
