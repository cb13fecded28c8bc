"""`hakiri run`: one run of one pipeline, with an exit code for whoever triggered it."""

from __future__ import annotations

from typing import Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.apply import told
from hakiri.cli.frame import AsJson, command_door, examples

cli = command_door()


@cli.command("run", epilog=examples("hakiri run orders", "hakiri run orders --json"))
def run(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[str, typer.Argument(metavar="ID", help="The pipeline to run.")],
    as_json: AsJson = False,
) -> int:
    """Run one pipeline now, whatever its schedule says.

    Pulls what is new; while its history is still being pulled, it goes on with that, at most as far as
    `max_chunks_per_tick`. Exits with 0 when the run succeeded, and with 1 when it failed.
    """
    from hakiri.cli.runtime import open_ground, open_place, way_on_told
    from hakiri.pipelines.choosing import left_alone
    from hakiri.pipelines.needs import Need, need_of

    app = app_of(ctx)
    with way_on_told(app, f"hakiri run {pipeline_id}"), open_place(app, only=pipeline_id) as place:
        (spec,) = place.specs
        need = need_of(place.catalog, spec, place.project.root, app.clock.now())
        if need is Need.WAITS:
            applied = left_alone(place.catalog, spec, need)
        else:
            from hakiri.pipelines.runtime.apply import run_now

            with open_ground(app, place, pipelines=[spec.id]) as (ground, _):
                applied = run_now(ground, spec)
    return told(app, [applied], as_json=as_json, did="ran")
