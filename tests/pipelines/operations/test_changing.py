"""What an operator changes, and what a run finds afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pipelines.operations.scenes import (
    NODE,
    NOW,
    T0,
    TTL,
    Scene,
    chunk_ids,
    half_failed,
    manifest_of,
    scene_in,
    streaming,
    tail,
    window,
)

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkStatus, Reread
from hakiri.catalog.contract.pipelines import Decision, Phase
from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName
from hakiri.pipelines.chunks.errors import CannotRewind, RangeMisfit
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.errors import LeaseHeldElsewhere, NoSuchTable
from hakiri.pipelines.operations import errors
from hakiri.pipelines.operations.changing import Operator, Pulled

ORDERS, EVENTS, TOKENS = PipelineId("orders"), PipelineId("events"), PipelineId("tokens")
HISTORICAL = PipelineId("github-issues-historical")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.fixture
def operator(scene: Scene) -> Operator:
    return Operator(
        catalog=scene.catalog, node=NodeId("operator-1"), run=RunId("operator-1"), by="operator:ada", now=NOW
    )


def audited(scene: Scene, pipeline: str) -> list[tuple[Any, ...]]:
    """What the audit log says, the first entry first."""
    return [
        (entry.by, entry.action, entry.table, entry.before, entry.after, entry.reason)
        for entry in reversed(scene.catalog.audit.page(pipeline=PipelineId(pipeline)))
    ]


def pieces_of(pulled: Pulled) -> list[tuple[int, Piece]]:
    return [(chunk.chunk, Piece.parse(chunk.predicate)) for chunk in pulled.chunks]


def commit(scene: Scene, attempt: ChunkAttempt, cursor: dict[str, int]) -> None:
    """What a worker does that was slow."""
    done = ChunkCommit(
        rows=1, bytes=1, manifest=manifest_of(attempt, rows=1).text(), cursor=canonical_json(cursor)
    )
    scene.catalog.queue.commit(attempt, done, scene.at)


# Decisions --------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-048")
@pytest.mark.parametrize(
    ("decision", "status"), [(Decision.RETRY, "pending"), (Decision.SKIP, "skipped")], ids=["retry", "skip"]
)
def test_a_decision_settles_the_failure_and_says_what_it_was_about(
    scene: Scene, operator: Operator, decision: Decision, status: str
) -> None:
    run = half_failed(scene)

    decided = operator.decide("orders", decision)

    state = scene.catalog.pipelines.get(ORDERS)
    assert state is not None
    assert state.failure is None
    assert (decided.failure.run, decided.failure.kind) == (run, "sources.unauthorized")
    assert [(chunk.chunk, chunk.status) for chunk in decided.chunks] == [(2, ChunkStatus.FAILED)]
    assert scene.statuses("orders") == {1: "done", 2: status, 3: "pending", 4: "pending"}
    assert [entry[:2] for entry in audited(scene, "orders")] == [("operator:ada", decision.value)]


@pytest.mark.parametrize("pipeline", ["orders", "events"], ids=["it is well", "it never ran"])
def test_without_a_failure_there_is_nothing_to_decide(
    scene: Scene, operator: Operator, pipeline: str
) -> None:
    streaming(scene, "orders", "orders")

    with pytest.raises(errors.NothingWaits):
        operator.decide(pipeline, Decision.RETRY)


# Setting a cursor -------------------------------------------------------------------------------------------


def test_a_cursor_is_set_and_the_audit_log_says_by_whom_and_why(scene: Scene, operator: Operator) -> None:
    streaming(scene, "orders", "orders")

    moved = operator.set_cursor(scene.project.pipeline("orders"), "orders", {"id": 120}, "RT-481")

    assert (moved.stream, moved.before, moved.after) == ("orders", '{"id":400}', '{"id":120}')
    assert scene.cursor("orders", "orders") == {"id": 120}
    assert audited(scene, "orders") == [
        ("operator:ada", "cursor", "orders", '{"id":400}', '{"id":120}', "RT-481")
    ]


def test_a_tail_that_waits_does_not_undo_a_cursor_that_was_set(scene: Scene, operator: Operator) -> None:
    streaming(scene, "orders", "orders")
    scene.planned("orders", "orders", tail({"id": 400}))

    operator.set_cursor(scene.project.pipeline("orders"), "orders", {"id": 120})

    assert scene.statuses("orders")[6] == "skipped"
    assert scene.catalog.queue.claim(ORDERS, scene.started("orders"), NODE, NOW, ttl=TTL) is None


def test_a_tail_that_somebody_reads_does_not_undo_a_cursor_that_was_set(
    scene: Scene, operator: Operator
) -> None:
    streaming(scene, "orders", "orders")
    scene.planned("orders", "orders", tail({"id": 400}))
    attempt = scene.claimed("orders", scene.started("orders"))

    operator.set_cursor(scene.project.pipeline("orders"), "orders", {"id": 120})
    commit(scene, attempt, {"id": 500})

    assert scene.cursor("orders", "orders") == {"id": 120}
    assert scene.statuses("orders")[6] == "done"


def test_windows_that_wait_are_still_read_after_a_cursor_was_set(scene: Scene, operator: Operator) -> None:
    half_failed(scene)
    scene.catalog.pipelines.decide(ORDERS, Decision.RETRY, "auto", T0)

    operator.set_cursor(scene.project.pipeline("orders"), "orders", {"id": 900})

    assert scene.statuses("orders") == {1: "done", 2: "pending", 3: "pending", 4: "skipped"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2024-01-01", "it is not a JSON object"),
        (None, "it is not a JSON object"),
        ({}, "it is not a JSON object"),
        ({"updated_at": "2024-01-01"}, "it has no `id`"),
        ({"id": "12"}, '`id` is `"12"`'),
        ({"id": 1.5}, "`id` is `1.5`"),
        ({"id": True}, "`id` is `true`"),
    ],
)
def test_a_cursor_that_no_run_could_go_on_from_is_refused(
    scene: Scene, operator: Operator, value: object, why: str
) -> None:
    streaming(scene, "orders", "orders")

    with pytest.raises(errors.BadCursor) as refused:
        operator.set_cursor(scene.project.pipeline("orders"), "orders", value)

    assert str(refused.value) == f"this cannot be the cursor of `orders`: {why}"
    assert refused.value.hint == 'write it like the present one: `{"id":400}`'
    assert scene.cursor("orders", "orders") == {"id": 400}


def test_a_text_that_is_no_time_cannot_take_the_place_of_a_time(scene: Scene, operator: Operator) -> None:
    piece = window(None, None, field="updated_at")
    scene.declared(HISTORICAL, "github_issues", piece)
    scene.did(HISTORICAL, scene.started(HISTORICAL), cursor={"updated_at": "2026-05-11T08:00:00Z"})
    spec = scene.project.pipeline(HISTORICAL)

    with pytest.raises(errors.BadCursor):
        operator.set_cursor(spec, "issues", {"updated_at": "yesterday"})
    moved = operator.set_cursor(spec, "issues", {"updated_at": "2026-05-10"})

    assert (moved.stream, moved.after) == ("github_issues", '{"updated_at":"2026-05-10"}')


def test_without_a_primary_key_no_cursor_is_set(scene: Scene, operator: Operator) -> None:
    streaming(scene, "events", "events", key=())

    with pytest.raises(errors.WouldDouble):
        operator.set_cursor(scene.project.pipeline("events"), "events", {"id": 1})


def test_a_table_in_partitions_needs_the_name_of_one(scene: Scene, operator: Operator) -> None:
    pieces = [window(None, None, field="updated_at", partition={"repo": repo}) for repo in ("a/b", "c/d")]
    scene.declared(HISTORICAL, "github_issues", *pieces, kind=CursorKind.PARTITIONED_MONOTONIC)
    run = scene.started(HISTORICAL)
    for _ in pieces:
        scene.did(HISTORICAL, run, cursor={"updated_at": "2026-05-11T08:00:00Z"})
    spec = scene.project.pipeline(HISTORICAL)
    value = {"updated_at": "2026-01-01T00:00:00Z"}

    with pytest.raises(errors.SeveralStreams) as refused:
        operator.set_cursor(spec, "issues", value)
    operator.set_cursor(spec, "github_issues#repo=c/d", value)

    assert refused.value.hint == "name one: `github_issues#repo=a/b`, `github_issues#repo=c/d`"
    assert scene.cursor(HISTORICAL, "github_issues#repo=a/b") == {"updated_at": "2026-05-11T08:00:00Z"}
    assert scene.cursor(HISTORICAL, "github_issues#repo=c/d") == value


def test_what_was_never_read_has_no_cursor_to_move(scene: Scene, operator: Operator) -> None:
    spec = scene.project.pipeline("orders")

    with pytest.raises(errors.NeverRead):
        operator.set_cursor(spec, "orders", {"id": 1})
    with pytest.raises(errors.NoSuchStream) as refused:
        operator.reset_cursor(spec, "ordres")

    assert refused.value.hint == "it has orders"


def test_a_pipeline_that_only_one_may_run_is_left_alone_while_it_runs(
    scene: Scene, operator: Operator
) -> None:
    first = Piece(kind=PieceKind.SEGMENT, pass_number=1)
    scene.declared("tokens", "tokens", first, kind=CursorKind.OPAQUE_TOKEN)
    scene.did("tokens", scene.started("tokens"), cursor={"page": "abc"})
    held = scene.catalog.leases.current(TOKENS)
    assert held is not None
    scene.catalog.leases.renew(held, NOW, TTL)
    spec = scene.project.pipeline("tokens")

    with pytest.raises(LeaseHeldElsewhere):
        operator.set_cursor(spec, "tokens", {"page": "x"})
    with pytest.raises(LeaseHeldElsewhere):
        operator.reset_cursor(spec, "tokens")
    scene.catalog.leases.release(held)
    operator.set_cursor(spec, "tokens", {"page": "x"})

    assert scene.cursor("tokens", "tokens") == {"page": "x"}
    assert scene.catalog.leases.current(TOKENS) is None


# Resetting a cursor -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [("id",), ()], ids=["with a key", "without one"])
def test_a_reset_pulls_every_window_again_and_the_open_one_once(
    scene: Scene, operator: Operator, key: tuple[str, ...]
) -> None:
    streaming(scene, "orders", "orders", key=key)
    scene.planned("orders", "orders", tail({"id": 400}))

    (moved,) = operator.reset_cursor(scene.project.pipeline("orders"), "orders", "RT-481")

    assert (moved.before, moved.after) == ('{"id":400}', "null")
    assert pieces_of(moved.pulled) == [
        (7, window(None, 100)),
        (8, window(100, 200)),
        (9, window(200, 300)),
        (10, window(300)),
    ]
    assert moved.pulled.kept == chunk_ids(1, 2, 3, 4, 5)
    assert scene.statuses("orders") == {
        **dict.fromkeys(range(1, 6), "superseded"),
        6: "skipped",
        **dict.fromkeys(range(7, 11), "pending"),
    }
    assert scene.cursor("orders", "orders") is None
    assert scene.phase("orders") is Phase.BACKFILLING
    assert {entry[1:3] + entry[5:] for entry in audited(scene, "orders")} == {
        ("rewind", "orders", "RT-481"),
        ("cursor", "orders", "RT-481"),
    }


def test_a_second_reset_changes_nothing_but_the_log(scene: Scene, operator: Operator) -> None:
    streaming(scene, "events", "events", key=())
    spec = scene.project.pipeline("events")
    operator.reset_cursor(spec, "events")
    before = scene.statuses("events")

    (moved,) = operator.reset_cursor(spec, "events")

    assert moved.pulled == Pulled()
    assert scene.statuses("events") == before


def test_a_reset_after_a_reset_was_pulled_pulls_everything_once_more(
    scene: Scene, operator: Operator
) -> None:
    streaming(scene, "events", "events", key=())
    spec = scene.project.pipeline("events")
    operator.reset_cursor(spec, "events")
    run = scene.started("events")
    for cursor in (None, None, None, {"id": 400}):
        scene.did("events", run, cursor=cursor)

    (moved,) = operator.reset_cursor(spec, "events")

    assert [piece for _, piece in pieces_of(moved.pulled)] == [
        window(None, 100),
        window(100, 200),
        window(200, 300),
        window(300),
    ]
    assert scene.catalog.chunks.tally(EVENTS).done == 0


def test_a_reset_brings_back_what_was_skipped(scene: Scene, operator: Operator) -> None:
    half_failed(scene)
    operator.decide("orders", Decision.SKIP)
    run = scene.started("orders")
    scene.did("orders", run)
    scene.did("orders", run, cursor={"id": 350})

    (moved,) = operator.reset_cursor(scene.project.pipeline("orders"), "orders")

    assert [piece for _, piece in pieces_of(moved.pulled)] == [
        window(100, 200),
        window(None, 100),
        window(200, 300),
        window(300),
    ]


def test_a_reset_reads_from_the_start_what_a_cursor_set_by_hand_had_passed_over(
    scene: Scene, operator: Operator
) -> None:
    half_failed(scene)
    operator.decide("orders", Decision.RETRY)
    spec = scene.project.pipeline("orders")
    operator.set_cursor(spec, "orders", {"id": 900})
    run = scene.started("orders")
    for _ in range(2):
        scene.did("orders", run)
    scene.planned("orders", "orders", tail({"id": 900}))
    scene.did("orders", run, cursor={"id": 950})

    (moved,) = operator.reset_cursor(spec, "orders")

    assert pieces_of(moved.pulled)[-1][1] == window(300)
    assert len(moved.pulled.chunks) == 4


def test_a_reset_of_a_table_read_by_tokens_begins_a_new_pass(scene: Scene, operator: Operator) -> None:
    number = scene.catalog.number("pass:tokens:tokens")
    first = Piece(kind=PieceKind.SEGMENT, pass_number=number)
    scene.declared("tokens", "tokens", first, kind=CursorKind.OPAQUE_TOKEN)
    run = scene.started("tokens")
    scene.did("tokens", run, cursor={"page": "abc"})
    scene.planned("tokens", "tokens", tail({"page": "abc"}, pass_number=number))
    scene.ended("tokens", run)

    (moved,) = operator.reset_cursor(scene.project.pipeline("tokens"), "tokens")

    assert pieces_of(moved.pulled) == [(3, Piece(kind=PieceKind.SEGMENT, pass_number=number + 1))]
    assert scene.statuses("tokens") == {1: "done", 2: "skipped", 3: "pending"}
    assert scene.cursor("tokens", "tokens") is None


@pytest.mark.parametrize("name", ["github_issues#repo=a/b", "issues"])
def test_a_reset_of_a_table_read_as_a_whole_is_one_pass_over_all_partitions(
    scene: Scene, operator: Operator, name: str
) -> None:
    number = scene.catalog.number(f"pass:{HISTORICAL}:github_issues")
    repos = ("a/b", "c/d")
    pieces = [
        Piece(kind=PieceKind.FULL, partition={"repo": repo}, pass_number=number, pass_size=2)
        for repo in repos
    ]
    scene.declared(HISTORICAL, "github_issues", *pieces, key=())
    run = scene.started(HISTORICAL)
    for _ in repos:
        scene.did(HISTORICAL, run)

    moved = operator.reset_cursor(scene.project.pipeline(HISTORICAL), name)

    assert [pair for each in moved for pair in pieces_of(each.pulled)] == [
        (
            3 + at,
            Piece(kind=PieceKind.FULL, partition={"repo": repo}, pass_number=number + 1, pass_size=2),
        )
        for at, repo in enumerate(repos)
    ]


def test_a_reset_of_one_partition_leaves_the_others_alone(scene: Scene, operator: Operator) -> None:
    pieces = [window(None, None, field="updated_at", partition={"repo": repo}) for repo in ("a/b", "c/d")]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    run = scene.started(HISTORICAL)
    for _ in pieces:
        scene.did(HISTORICAL, run, cursor={"updated_at": "2026-05-11T08:00:00Z"})

    moved = operator.reset_cursor(scene.project.pipeline(HISTORICAL), "github_issues#repo=c/d")

    assert [each.stream for each in moved] == ["github_issues#repo=c/d"]
    assert scene.statuses(HISTORICAL) == {1: "done", 2: "superseded", 3: "pending"}


@pytest.mark.parametrize("key", [("id",), ()], ids=["with a key", "without one"])
def test_a_table_that_is_being_read_is_only_reset_if_its_rows_cannot_double(
    scene: Scene, operator: Operator, key: tuple[str, ...]
) -> None:
    streaming(scene, "orders", "orders", key=key)
    scene.planned("orders", "orders", tail({"id": 400}))
    scene.at = NOW
    scene.claimed("orders", scene.started("orders"))
    spec = scene.project.pipeline("orders")

    if key:
        operator.reset_cursor(spec, "orders")
    else:
        with pytest.raises(errors.BeingRead):
            operator.reset_cursor(spec, "orders")

    assert scene.statuses("orders")[1] == ("superseded" if key else "done")


# Rewinding --------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-103")
@pytest.mark.spec("HP-142")
@pytest.mark.spec("HP-145")
def test_a_rewind_keeps_the_originals_and_opens_the_gap_again(scene: Scene, operator: Operator) -> None:
    streaming(scene, "orders", "orders")
    spec = scene.project.pipeline("orders")

    pulled = operator.rewind(spec, ValueRange.parse("150", "220"), reason="vendor-side correction RT-481")

    assert pieces_of(pulled) == [(6, window(100, 200)), (7, window(200, 300))]
    assert pulled.kept == chunk_ids(2, 3)
    assert scene.statuses("orders") == {
        **dict.fromkeys((1, 4, 5), "done"),
        **dict.fromkeys((2, 3), "superseded"),
        **dict.fromkeys((6, 7), "pending"),
    }
    assert [(c.chunk, c.superseded_by, c.reason) for c in scene.chunks("orders", ChunkStatus.SUPERSEDED)] == [
        (2, 6, "vendor-side correction RT-481"),
        (3, 7, "vendor-side correction RT-481"),
    ]
    assert scene.phase("orders") is Phase.BACKFILLING
    assert audited(scene, "orders") == [
        ("operator:ada", "rewind", "orders", "[2,3]", "[6,7]", "vendor-side correction RT-481")
    ]


@pytest.mark.spec("HP-145")
def test_with_a_key_a_range_of_the_tails_is_read_beside_them_and_noted(
    scene: Scene, operator: Operator
) -> None:
    streaming(scene, "orders", "orders")

    pulled = operator.rewind(scene.project.pipeline("orders"), ValueRange.parse("320", "380"), reason="why")

    assert pieces_of(pulled) == [(6, window(320, 381))]
    read_by = {chunk.run for chunk in scene.chunks("orders", ChunkStatus.DONE) if chunk.chunk in (4, 5)}
    assert pulled.chunks[0].reread == Reread(reason="why", asked_at=NOW, runs=tuple(sorted(read_by)))  # type: ignore[type-var, arg-type]
    assert pulled.kept == ()
    assert scene.statuses("orders")[6] == "pending"
    assert audited(scene, "orders") == [
        (
            "operator:ada",
            "rewind",
            "orders",
            None,
            '{"pieces":[{"kind":"window","window":{"field":"id","since":320,"until":381}}]}',
            "why",
        )
    ]


def test_without_a_key_tails_give_way_to_one_read_and_the_one_that_waits_is_set_aside(
    scene: Scene, operator: Operator
) -> None:
    streaming(scene, "events", "events", key=())
    scene.planned("events", "events", tail({"id": 400}))

    pulled = operator.rewind(scene.project.pipeline("events"), ValueRange.parse("360", "380"), reason="why")

    assert pieces_of(pulled) == [(7, tail({"id": 350}))]
    assert scene.statuses("events") == {
        **dict.fromkeys(range(1, 5), "done"),
        5: "superseded",
        6: "skipped",
        7: "pending",
    }


def test_without_a_key_nothing_is_rewound_while_somebody_reads_the_tail(
    scene: Scene, operator: Operator
) -> None:
    streaming(scene, "events", "events", key=())
    scene.planned("events", "events", tail({"id": 400}))
    scene.at = NOW
    scene.claimed("events", scene.started("events"))
    before = scene.statuses("events")

    with pytest.raises(errors.BeingRead) as refused:
        operator.rewind(scene.project.pipeline("events"), ValueRange.parse("360", "380"), reason="why")

    assert refused.value.holder == "node-1"
    assert scene.statuses("events") == before


def test_a_rewind_brings_back_what_was_skipped_in_its_range(scene: Scene, operator: Operator) -> None:
    half_failed(scene)
    operator.decide("orders", Decision.SKIP)

    pulled = operator.rewind(scene.project.pipeline("orders"), ValueRange.parse("100", "199"), reason="why")

    assert pieces_of(pulled) == [(2, window(100, 200))]
    assert scene.statuses("orders") == {1: "done", 2: "pending", 3: "pending", 4: "pending"}
    assert audited(scene, "orders")[-1][3:] == (None, '{"chunks":[2]}', "why")


def test_what_was_skipped_and_read_since_is_not_read_twice(scene: Scene, operator: Operator) -> None:
    scene.declared("events", "events", window(None, 100), window(100), key=())
    run = scene.started("events")
    scene.chunk_failed("events", run, "sources.gone", "gone")
    scene.failed("events", run, "sources.gone", "gone")
    operator.decide("events", Decision.SKIP)
    scene.did("events", run, cursor={"id": 150})
    scene.planned("events", "events", tail({"id": 0}))
    scene.did("events", run, cursor={"id": 200})

    pulled = operator.rewind(scene.project.pipeline("events"), ValueRange.parse("50", "60"), reason="why")

    assert pieces_of(pulled) == [(4, tail({"id": 0}))]
    assert scene.statuses("events")[1] == "skipped"


def test_passes_are_rewound_as_a_whole_under_a_number_of_their_own(scene: Scene, operator: Operator) -> None:
    number = scene.catalog.number("pass:events:events")
    piece = Piece(kind=PieceKind.FULL, pass_number=number, pass_size=1)
    scene.declared("events", "events", piece, key=())
    scene.did("events", scene.started("events"))
    spec = scene.project.pipeline("events")

    pulled = operator.rewind(spec, ValueRange.parse("1", "2"), reason="why")

    again = Piece(kind=PieceKind.FULL, pass_number=number + 1, pass_size=1)
    assert pieces_of(pulled) == [(2, again)]
    assert scene.catalog.number("pass:events:events") == number + 2
    with pytest.raises(errors.NothingRead):
        operator.rewind(spec, ValueRange.parse("1", "2"), reason="it is under way already")


@pytest.mark.parametrize(
    ("span", "table", "error"),
    [
        (("9000", "9999"), None, errors.NothingRead),
        (("2024-01-01", "2024-06-30"), None, RangeMisfit),
        (("1", "2"), "ordres", NoSuchTable),
    ],
)
def test_a_rewind_that_cannot_be_done_changes_nothing(
    scene: Scene,
    operator: Operator,
    span: tuple[str, str],
    table: str | None,
    error: type[HakiriError],
) -> None:
    streaming(scene, "orders", "orders")
    before = scene.chunks("orders")

    with pytest.raises(error):
        operator.rewind(scene.project.pipeline("orders"), ValueRange.parse(*span), reason="why", table=table)

    assert scene.chunks("orders") == before
    assert scene.phase("orders") is Phase.STREAMING
    assert audited(scene, "orders") == []


def test_what_tokens_lead_through_cannot_be_rewound(scene: Scene, operator: Operator) -> None:
    first = Piece(kind=PieceKind.SEGMENT, pass_number=1)
    scene.declared("tokens", "tokens", first, kind=CursorKind.OPAQUE_TOKEN)
    scene.did("tokens", scene.started("tokens"), cursor={"page": "abc"})

    with pytest.raises(CannotRewind):
        operator.rewind(scene.project.pipeline("tokens"), ValueRange.parse("1", "2"), reason="why")


def test_a_rewind_during_the_backfill_leaves_the_phase(scene: Scene, operator: Operator) -> None:
    half_failed(scene)

    pulled = operator.rewind(scene.project.pipeline("orders"), ValueRange.parse("0", "50"), reason="why")

    assert pieces_of(pulled) == [(5, window(None, 100))]
    assert scene.phase("orders") is Phase.BACKFILLING


def test_what_a_restore_withdrew_is_pulled_again_once(scene: Scene, operator: Operator) -> None:
    streaming(scene, "orders", "orders")
    lost = chunk_ids(2, 5)

    pulled = operator.pull_again(PipelineId("orders"), TableName("orders"), lost, reason="restored")

    assert pieces_of(pulled) == [(6, window(100, 200)), (7, tail({"id": 350}))]
    assert pulled.kept == lost
    assert scene.phase("orders") is Phase.BACKFILLING
    again = operator.pull_again(PipelineId("orders"), TableName("orders"), lost, reason="restored")
    assert again == Pulled()
