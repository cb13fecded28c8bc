"""One pipeline, as declared: from where, which tables, to where, how often and how far back."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from hakiri.manifest.fields import (
    ArtifactPath,
    ColumnName,
    ConnectorName,
    DurationText,
    Found,
    MomentText,
    OrShort,
    PipelineId,
    RateText,
    ReferenceName,
    ScheduleText,
    SecretName,
    StoreTable,
    Strict,
    as_identifier,
    distinct,
    refuse,
)
from hakiri.manifest.layout import KeyPath
from hakiri.manifest.problems import Code
from hakiri.manifest.tables import TableEntry, TableSpec

SCHEMA_URL = "https://hakiri.dev/schemas/v1/pipeline.json"
MOST_CHUNKS = 10_000
DEFAULT_RETRIES = 5
MOST_RETRIES = 1_000

# Their tables mean different things in every project, so the connector's name would say nothing.
GENERIC_CONNECTORS = frozenset({"sql", "rest", "files", "singer", "postgres-cdc"})

# Beside the view of a table `t`, the store has `t__quarantine` for the rows that did not fit.
QUARANTINE = "__quarantine"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SourceSpec(Strict):
    """Where rows come from."""

    connector: ConnectorName = Field(description="The connector that reads.", examples=["github", "sql"])
    config: dict[str, JsonValue] = Field(
        {}, description="What the connector needs to know. Secrets stay out: name them in `secrets`."
    )


class DestinationSpec(Strict):
    """Where rows go."""

    connector: ConnectorName = Field(description="The connector that writes.", examples=["context"])
    config: dict[str, JsonValue] = Field(
        {}, description="What the connector needs to know. Secrets stay out: name them in `secrets`."
    )


class TransformSpec(Strict):
    """One compiled transform: by the path of its artifact, or by the id it was compiled under.

    As a plain text, one that ends in `.json` is a path and any other is an id; the artifact of id `x` is
    `pipelines/x.transforms.json`.
    """

    path: ArtifactPath | None = Field(None, description="The compiled artifact, relative to the project.")
    id: PipelineId | None = Field(None, description="The id the transform was compiled under.")

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.path is None) == (self.id is None):
            refuse(
                Found(
                    Code.CONFLICT,
                    "a transform has either `path` or `id`",
                    "write the path of the compiled artifact, or the id, as a plain text",
                )
            )
        return self

    @property
    def artifact(self) -> str:
        """The path of the compiled artifact, relative to the project."""
        return self.path if self.path is not None else f"pipelines/{self.id}.transforms.json"


def _transform(text: str) -> TransformSpec:
    if text.endswith(".json"):
        return TransformSpec(path=text)
    return TransformSpec(id=text)


TransformEntry = Annotated[TransformSpec, OrShort(_transform)]


class ReferenceSpec(Strict):
    """A small table that transforms may join with: files, or a table of the store.

    A plain text is the path. It is loaded once a run.
    """

    path: str | None = Field(
        None, min_length=1, description="A glob, relative to the project.", examples=["data/countries.csv"]
    )
    format: str | None = Field(None, description="What the files are. Default: their ending tells.")
    table: StoreTable | None = Field(None, description="A table of the store, in place of `path`.")

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.path is None) == (self.table is None):
            refuse(
                Found(
                    Code.CONFLICT,
                    "a reference has either `path` or `table`",
                    "write the path of its files, or the name of a table of the store",
                )
            )
        if self.format is not None and self.path is None:
            refuse(
                Found(Code.CONFLICT, "a table of the store has no `format`", "remove `format`", ("format",))
            )
        return self


def _reference(path: str) -> ReferenceSpec:
    return ReferenceSpec(path=path)


ReferenceEntry = Annotated[ReferenceSpec, OrShort(_reference)]


class BackfillSpec(Strict):
    """How history is pulled: in which pieces, how many at once, and how hard on the source.

    What is left out comes from the connector.
    """

    window: DurationText | None = Field(None, description="One chunk for each slice of this length.")
    parallelism: int | None = Field(
        None,
        examples=[4],
        ge=1,
        le=MOST_CHUNKS,
        description="How many chunks of this pipeline are in flight at once.",
    )
    rate_budget: RateText | None = Field(None, description="At most this many requests to the source.")
    start_from: MomentText | None = Field(None, description="Do not go further back than this.")
    max_chunks_per_tick: int | None = Field(
        None,
        examples=[8],
        ge=1,
        le=MOST_CHUNKS,
        description="How many chunks one tick of the scheduler dispatches.",
    )
    destination_writes_per_sec: float | None = Field(
        None,
        examples=[10],
        gt=0,
        le=1_000_000,
        description="At most this many Parquet files a second are written.",
    )
    max_parallel_chunks: int | None = Field(
        None,
        examples=[16],
        ge=1,
        le=MOST_CHUNKS,
        description="How many chunks this worker runs at once, over all pipelines.",
    )
    sla: DurationText | None = Field(
        None,
        description="How far behind the source's now still counts as caught up. Default: the period of the "
        "schedule, or 15 minutes without one.",
    )


def _name_of_quarantine(table: TableSpec, name: str, path: KeyPath) -> Found:
    proposal = f"{name[: -len(QUARANTINE)].rstrip('_') or 'other'}_quarantine"
    return Found(
        Code.BAD_NAME,
        f"table `{name}` cannot be one of the store: `{QUARANTINE}` ends the views of rows that did not fit",
        f'write `{{ name = "{table.name}", as = "{proposal}" }}`',
        path,
    )


def _forget(_: str) -> None:
    return None


EditorSchema = Annotated[str, AfterValidator(_forget)]


class PipelineSpec(Strict):
    """One pipeline, the same whether it was written in TOML or in JSON."""

    schema_url: EditorSchema | None = Field(
        None, alias="$schema", exclude=True, description="For editors only; it means nothing to Hakiri."
    )
    id: PipelineId = Field(
        description="The pipeline's name, unique in the project.", examples=["github-issues"]
    )
    source: SourceSpec = Field(
        description="Where rows come from.",
        examples=[{"connector": "github", "config": {"repo": "owner/name"}}],
    )
    secrets: Annotated[tuple[SecretName, ...], AfterValidator(distinct)] = Field(
        (),
        description="Environment variables that the connectors may read, by name.",
        examples=[["GITHUB_TOKEN"]],
    )
    tables: tuple[TableEntry, ...] = Field(
        min_length=1, description="The tables to pull, as names or as objects.", examples=[["issues"]]
    )
    schedule: ScheduleText | None = Field(
        None, description="`every` and a duration, or five cron fields. Default: only when asked."
    )
    incremental: ColumnName | None = Field(
        None, description="The cursor column: only rows that are newer are pulled.", examples=["updated_at"]
    )
    destination: DestinationSpec | None = Field(
        None,
        description="Where rows go. Default: the project's `default_destination`.",
        examples=[{"connector": "context"}],
    )
    transforms: tuple[TransformEntry, ...] = Field(
        (), description="Compiled transforms, applied in this order.", examples=[["github-issues"]]
    )
    references: dict[ReferenceName, ReferenceEntry] = Field(
        {},
        description="Tables that transforms may join with, by the name they have there.",
        examples=[{"countries": "data/countries.csv"}],
    )
    backfill: BackfillSpec = Field(BackfillSpec(), description="How history is pulled.")
    retries: int = Field(
        DEFAULT_RETRIES,
        examples=[5],
        ge=0,
        le=MOST_RETRIES,
        description="How often a chunk is tried again after a failure that may pass.",
    )
    backfill_window: DurationText | None = Field(
        None, exclude=True, description="Short for `backfill.window`."
    )
    backfill_parallelism: int | None = Field(
        None,
        examples=[4],
        ge=1,
        le=MOST_CHUNKS,
        exclude=True,
        description="Short for `backfill.parallelism`.",
    )

    @model_validator(mode="after")
    def _unfold_short_names(self) -> Self:
        """Move `backfill_window` and `backfill_parallelism` to where they mean the same."""
        short = {"window": self.backfill_window, "parallelism": self.backfill_parallelism}
        given = {key: value for key, value in short.items() if value is not None}
        twice = [key for key in given if getattr(self.backfill, key) is not None]
        if twice:
            refuse(
                *(
                    Found(
                        Code.CONFLICT,
                        f"`backfill_{key}` and `backfill.{key}` are two names of one setting",
                        "keep one of them",
                        (f"backfill_{key}",),
                    )
                    for key in twice
                )
            )
        if given:
            # Frozen for everybody else; a spec with the short names must equal one without.
            vars(self).update(
                backfill=self.backfill.model_copy(update=given),
                backfill_window=None,
                backfill_parallelism=None,
            )
        return self

    @model_validator(mode="after")
    def _has_distinct_tables(self) -> Self:
        found: list[Found] = []
        first: dict[str, TableSpec] = {}
        for number, table in enumerate(self.tables):
            proposal = as_identifier(table.name) or "other_name"
            if table.as_ is None and not _IDENTIFIER.fullmatch(table.name):
                found.append(
                    Found(
                        Code.BAD_NAME,
                        f"table `{table.name}` needs `as`, because its name cannot be that of a view",
                        f'write `{{ name = "{table.name}", as = "{proposal}" }}`',
                        ("tables", number),
                    )
                )
                continue
            name = self.store_name(table)
            if name.casefold().endswith(QUARANTINE):
                found.append(_name_of_quarantine(table, name, ("tables", number)))
            if name.casefold() in first:
                other = first[name.casefold()].name
                message = (
                    f"table `{table.name}` is listed twice"
                    if other == table.name
                    else f"tables `{other}` and `{table.name}` are both `{name}` in the store"
                )
                found.append(
                    Found(Code.DUPLICATE, message, "keep one, or rename one with `as`", ("tables", number))
                )
            first.setdefault(name.casefold(), table)
        if found:
            refuse(*found)
        return self

    def store_name(self, table: TableSpec) -> str:
        """The name of this table in the store: `github` and `issues` are `github_issues`."""
        if table.as_ is not None:
            return table.as_
        prefix = as_identifier(self.source.connector) + "_"
        if self.source.connector in GENERIC_CONNECTORS or table.name.startswith(prefix):
            return table.name
        return prefix + table.name

    def source_name(self, table: TableSpec) -> str:
        """The name of this table at the source: a manifest may also give the one that it has in the store."""
        prefix = as_identifier(self.source.connector) + "_"
        return table.name if self.source.connector in GENERIC_CONNECTORS else table.name.removeprefix(prefix)

    def cursor_of(self, table: TableSpec) -> str | None:
        """The cursor column of this table: its own, else the pipeline's."""
        return table.incremental if table.incremental is not None else self.incremental


def dump_pipeline(spec: PipelineSpec) -> dict[str, Any]:
    """The spec as plain JSON values in the order of the types, short where it can be, defaults left out."""
    data: dict[str, Any] = spec.model_dump(mode="json", exclude_defaults=True)
    data["tables"] = [table["name"] if table.keys() == {"name"} else table for table in data["tables"]]
    for name, reference in data.get("references", {}).items():
        if reference.keys() == {"path"}:
            data["references"][name] = reference["path"]
    if "transforms" in data:
        data["transforms"] = [transform.get("path") or transform["id"] for transform in data["transforms"]]
    return data
