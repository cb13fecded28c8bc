"""`hakiri schema accept`: let through what a table refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.cli.operating import decider
from hakiri.cli.schema_common import (
    OperatorOption,
    PipelineOption,
    decision_row,
    files_of,
    open_existing,
    publish,
    show_decision,
)

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.runtime import Place
    from hakiri.manifest import PipelineSpec
    from hakiri.pipelines.evolution.recording import Decided


def accept(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineOption,
    table: Annotated[
        str | None, typer.Option("--table", metavar="TABLE", help="One of its tables; all by default.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="This column alone, such as `total` or `address.zip`; repeatable.",
        ),
    ] = None,
    operator: OperatorOption = None,
    as_json: AsJson = False,
) -> None:
    """Let through what the tables of a pipeline refuse.

    A column becomes the least type that holds what is stored and what comes, so that no value is lost, and
    takes both from then on. The source is asked for its columns now; behind a transform, what the last run
    refused counts. A pipeline that failed for it goes on. The decision is in `hakiri schema log`.
    """
    from hakiri.cli.reports import SchemaAcceptReport
    from hakiri.core.ids import PipelineId
    from hakiri.pipelines.evolution.recording import settle_refusal

    app = app_of(ctx)
    by = decider(app, operator)
    with open_existing(app) as place:
        spec = place.project.pipeline(pipeline_id)
        decided = _decided(app, place, spec, table, columns=columns, by=by)
        publish(place, decided)
        is_settled = not any(each.refused for each in decided)
        is_released = is_settled and settle_refusal(place.catalog, PipelineId(spec.id), by, app.clock.now())
    if as_json:
        rows = tuple(decision_row(each) for each in decided)
        app.console.data(
            SchemaAcceptReport(pipeline=spec.id, decided_by=by, tables=rows, is_released=is_released)
        )
    else:
        _show(app, spec.id, decided, by, is_released=is_released)


def _decided(
    app: App, place: Place, spec: PipelineSpec, table: str | None, *, columns: list[str] | None, by: str
) -> list[Decided]:
    from hakiri.core.ids import PipelineId
    from hakiri.pipelines.evolution.brought import brought_now
    from hakiri.pipelines.evolution.errors import NothingRefused
    from hakiri.pipelines.evolution.recording import accept_changes

    brought = brought_now(place.project, spec, place.catalog, env=app.env, clock=app.clock, only=table)
    decided = [
        accept_changes(
            place.catalog,
            each,
            pipeline=PipelineId(spec.id),
            columns=columns,
            files=files_of(place, each.table),
            by=by,
            now=app.clock.now(),
        )
        for each in brought
        if place.catalog.schemas.current(each.table) is not None
    ]
    if columns and not any(each.changes for each in decided):
        refused = [change.column for each in decided for change in each.refused if change.column]
        raise NothingRefused(spec.id, columns, refused)
    return decided


def _show(app: App, pipeline_id: str, decided: list[Decided], by: str, *, is_released: bool) -> None:
    from hakiri.pipelines.evolution.decide import ways_out

    accepted = [each for each in decided if each.changes]
    for each in accepted:
        show_decision(app, each)
    if not accepted and not any(each.refused for each in decided):
        app.console.print(f"nothing to accept: the tables take all that pipeline `{pipeline_id}` brings")
    elif accepted:
        app.console.note(f"decided by {by}")
    for each in decided:
        if each.refused:
            problems = "; ".join(f"{change} ({change.rule})" for change in each.refused)
            hint = "; ".join(ways_out(each.refused, each.table, pipeline_id))
            app.console.warn(f"table `{each.table}` still refuses: {problems}", hint=hint)
    if is_released:
        app.console.note(f"pipeline `{pipeline_id}` goes on with its next run")
