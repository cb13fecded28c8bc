"""`hakiri schema migrate`: another primary key for a table."""

from __future__ import annotations

from typing import Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.cli.operating import decider
from hakiri.cli.schema_common import (
    OperatorOption,
    PipelineOption,
    decision_row,
    open_existing,
    publish,
    show_decision,
)
from hakiri.core.errors import UsageError


def migrate(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineOption,
    table: Annotated[str, typer.Option("--table", metavar="TABLE", help="The table.")],
    primary_key: Annotated[
        str | None,
        typer.Option(
            "--primary-key", metavar="COLUMNS", help="The columns of the new key: `id` or `id,region`."
        ),
    ] = None,
    no_primary_key: Annotated[
        bool, typer.Option("--no-primary-key", help="Take the key away: rows are not told apart any more.")
    ] = False,
    operator: OperatorOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a table another primary key.

    No row is changed or deleted: where several have the same key, the newest is seen. Another migration
    brings the others back. A pipeline that failed for its key goes on.
    """
    from hakiri.cli.reports import SchemaMigrateReport
    from hakiri.core.ids import PipelineId, TableName
    from hakiri.pipelines.evolution.brought import table_named
    from hakiri.pipelines.evolution.keys import rows_sharing_key
    from hakiri.pipelines.evolution.recording import migrate_key, settle_refusal

    app = app_of(ctx)
    key = _key(primary_key, is_none=no_primary_key)
    by = decider(app, operator)
    with open_existing(app) as place:
        spec = place.project.pipeline(pipeline_id)
        declared = table_named(spec, table)
        pipeline, store = PipelineId(spec.id), TableName(spec.store_name(declared))
        now = app.clock.now()
        decided = migrate_key(place.catalog, key, pipeline=pipeline, table=store, by=by, now=now)
        hidden = rows_sharing_key(place.layout, store, key) if decided.changes else 0
        publish(place, [decided])
        is_released = settle_refusal(place.catalog, pipeline, by, now)
    if as_json:
        app.console.data(
            SchemaMigrateReport(
                pipeline=spec.id,
                decided_by=by,
                table=decision_row(decided),
                primary_key=key,
                rows_hidden=hidden,
                is_released=is_released,
            )
        )
        return
    if not decided.changes:
        app.console.print(f"nothing to do: {', '.join(key) or 'none'} is the primary key of {store} already")
        return
    show_decision(app, decided)
    app.console.note(f"decided by {by}")
    if hidden:
        rows = "1 row is" if hidden == 1 else f"{hidden} rows are"
        app.console.warn(f"{rows} not seen any more, since a newer one has the same key")
    if declared.primary_key is not None and set(declared.primary_key) != set(key):
        told = ", ".join(declared.primary_key)
        app.console.warn(
            f"the manifest says that the primary key of `{declared.name}` is {told}",
            hint="change `primary_key` there too, or the next run is refused",
        )
    if is_released:
        app.console.note(f"pipeline `{spec.id}` goes on with its next run")


def _key(text: str | None, *, is_none: bool) -> tuple[str, ...]:
    key = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    if bool(key) == is_none:
        raise UsageError(
            "a migration needs the new key",
            hint="add `--primary-key COLUMNS`, or `--no-primary-key` for none",
        )
    return key
