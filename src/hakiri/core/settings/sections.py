"""Every setting of a project, declared once, and how its value is found.

A setting has a key (`engine.master`), an environment variable made from it (`HAKIRI_ENGINE_MASTER`) and a
default. A flag beats the environment, the environment beats the manifest, the manifest beats the default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

from hakiri.core.grammar.durations import Duration
from hakiri.core.secrets import MASK, Secret
from hakiri.core.settings.values import Kind, hidden_in_url, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hakiri.core.grammar.sizes import Size

Origin = Literal["flag", "environment", "manifest", "default"]
SyncMode = Literal["auto", "multi-writer", "single-writer"]
SYNC_MODES = ("auto", "multi-writer", "single-writer")


def _about(
    about: str,
    *,
    kind: Kind = "text",
    none_means: str = "",
    choices: tuple[str, ...] = (),
    is_secret: bool = False,
) -> dict[str, object]:
    """What a field's type and default do not say. Fields that may hold a password stay out of `repr`."""
    return {
        "about": about,
        "kind": kind,
        "none_means": none_means,
        "choices": choices,
        "is_secret": is_secret,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How Spark is started and reached."""

    master: str = field(
        default="local[*]",
        repr=False,
        metadata=_about("Where Spark runs: local[*], spark://, sc://, k8s:// or yarn."),
    )
    conf: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=_about("Spark settings that are passed on as they are.", kind="table"),
    )
    driver_memory: Size | None = field(
        default=None,
        metadata=_about("Memory of the local Spark server.", kind="size", none_means="from the machine"),
    )
    idle_timeout: Duration = field(
        default=Duration.parse("10m"),
        metadata=_about("How long the warm server waits for work before it stops.", kind="duration"),
    )
    archive: bool = field(
        default=True,
        metadata=_about("Make and use a class-data archive for a faster start.", kind="flag"),
    )
    java: str | None = field(
        default=None,
        metadata=_about("The Java to use: its home folder or the program.", none_means="found by itself"),
    )
    python: str | None = field(
        default=None,
        metadata=_about("The Python that Spark's workers use.", none_means="the one that runs hakiri"),
    )
    env: tuple[str, ...] = field(
        default=(),
        metadata=_about("Variables of the environment that Spark may see, beside the usual.", kind="names"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """Where the context store is."""

    path: str = field(default=".hakiri/context", metadata=_about("The folder of the context store."))
    default_destination: str = field(
        default="context", metadata=_about("Where a pipeline without a destination writes.")
    )
    rename: bool = field(
        default=True,
        metadata=_about(
            "Whether the disk of the store renames folders in one step; a mounted bucket does not.",
            kind="flag",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings:
    """The bucket that stores are shared through."""

    bucket: str | None = field(
        default=None, metadata=_about("The bucket, as s3://name or r2://name.", none_means="no sync")
    )
    endpoint: str | None = field(
        default=None,
        repr=False,
        metadata=_about("The address of the object store.", none_means="the provider's own"),
    )
    region: str = field(default="auto", metadata=_about("The region of the bucket."))
    mode: SyncMode = field(
        default="auto", metadata=_about("Who may write to the bucket.", choices=SYNC_MODES)
    )
    key_id: Secret | None = field(
        default=None, metadata=_about("The id of the access key.", none_means="not set", is_secret=True)
    )
    key_secret: Secret | None = field(
        default=None, metadata=_about("The access key itself.", none_means="not set", is_secret=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """Where the state is kept."""

    url: str | None = field(
        default=None,
        repr=False,
        metadata=_about("The URL of the catalog.", none_means="the SQLite file of the store"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionSettings:
    """Where the key of encrypted stores comes from."""

    key_source: str | None = field(
        default=None, metadata=_about("Where the key is, as env:HAKIRI_KEY.", none_means="no encryption")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """How this machine works through chunks."""

    max_parallel_chunks: int = field(
        default=64,
        metadata=_about("How many chunks this worker runs at once, over all pipelines.", kind="count"),
    )
    node: str | None = field(
        default=None,
        metadata=_about(
            "The name of this machine among those that share a catalog.",
            kind="name",
            none_means="the host's name",
        ),
    )
    lease: Duration = field(
        default=Duration.parse("10m"),
        metadata=_about("How long a chunk belongs to a worker that gives no sign of life.", kind="duration"),
    )
    news_every: Duration = field(
        default=Duration.parse("1m"),
        metadata=_about(
            "How often `hakiri serve` asks sources of pipelines without a schedule for news.", kind="duration"
        ),
    )


SECTIONS: Mapping[str, type] = {
    "engine": EngineSettings,
    "context": ContextSettings,
    "sync": SyncSettings,
    "catalog": CatalogSettings,
    "encryption": EncryptionSettings,
    "runtime": RuntimeSettings,
}


class SettingSpec(NamedTuple):
    """What there is to know about a setting before it has a value."""

    key: str
    kind: Kind
    default: object
    about: str
    none_means: str
    choices: tuple[str, ...]
    is_secret: bool

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "HAKIRI_" + self.key.replace(".", "_").upper()


def _specs() -> Iterable[SettingSpec]:
    for section, settings_class in SECTIONS.items():
        for each in fields(settings_class):
            default = {} if each.metadata["kind"] == "table" else each.default
            yield SettingSpec(key=f"{section}.{each.name}", default=default, **each.metadata)


SETTINGS: tuple[SettingSpec, ...] = tuple(_specs())
SPEC_OF_KEY: Mapping[str, SettingSpec] = {spec.key: spec for spec in SETTINGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value and where it came from. An entry of a table is a setting of its own: `engine.conf.spark.x`."""

    key: str
    value: object = field(repr=False)
    origin: Origin
    where: str
    is_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a project, by section and typed; `all` has the same values with their origins."""

    engine: EngineSettings
    context: ContextSettings
    sync: SyncSettings
    catalog: CatalogSettings
    encryption: EncryptionSettings
    runtime: RuntimeSettings
    all: tuple[Setting, ...]
    warnings: tuple[str, ...]

    def secrets(self) -> tuple[Secret, ...]:
        """Everything in the settings that must be masked wherever text leaves, passwords of URLs too."""
        return tuple(secret for setting in self.all for secret in _secrets_in(setting))


def shown(setting: Setting) -> str:
    """The value as text for people, with secrets and the passwords of URLs masked."""
    if setting.value is None:
        return f"({SPEC_OF_KEY[setting.key].none_means})"
    return MASK if setting.is_secret else shown_value(setting.value)


def _secrets_in(setting: Setting) -> Iterable[Secret]:
    if isinstance(setting.value, Secret):
        yield setting.value
    elif isinstance(setting.value, str):
        hidden = (setting.value,) if setting.is_secret else hidden_in_url(setting.value)
        yield from map(Secret, hidden)
