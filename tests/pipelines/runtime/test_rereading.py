"""Reading again what was read before: the lineage says why, and readers see the old or the new, no mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.protocol_lab_judge import PIPELINE, STORED
from tests.support.protocol_lab_source import RECIPES, Change, ListedConnector, Recipe, Row
from tests.support.protocol_lab_story import Story

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, NewChunk
from hakiri.catalog.contract.lineage import EdgeKind
from hakiri.cli import main
from hakiri.core.ids import NodeId, RunId
from hakiri.pipelines.chunks.errors import NoProgress
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.operations.changing import Operator
from hakiri.pipelines.operations.stories import story_of
from hakiri.pipelines.runtime.apply import Applied, apply_project, run_now
from hakiri.pipelines.runtime.steps import Step
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import Publisher
from hakiri.store.reading import open_reader

pytestmark = pytest.mark.proof

RECIPE = {recipe.name: recipe for recipe in RECIPES}
EVERYTHING = ("2024-01-01", "2024-12-31")
Begin = Callable[[Recipe], Story]


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    def begun(recipe: Recipe) -> Story:
        story = Story.begin(tmp_path / "story", recipe, Random(1))
        monkeypatch.setattr(ListedConnector, "source", story.source, raising=False)
        return story

    return begun


def run_of(applied: Applied) -> RunId:
    if applied.error is not None:
        raise applied.error
    assert applied.result is not None
    return applied.result.run.run


def apply(story: Story, **changes: Any) -> RunId:
    with story.ground(**changes) as ground:
        return run_of(apply_project(ground)[0])


def tick(story: Story, rows: int = 3) -> RunId:
    """The source has news, and they are pulled."""
    story.source.grow(rows, Random(1))
    with story.ground() as ground:
        return run_of(run_now(ground, ground.project.pipeline(PIPELINE)))


def operated(story: Story, change: Callable[[Operator, Any], object]) -> None:
    with story.ground() as ground:
        operator = Operator(
            catalog=ground.catalog,
            node=NodeId("operator"),
            run=RunId("operator"),
            by="operator:ada",
            now=ground.clock.now(),
        )
        change(operator, ground.project.pipeline(PIPELINE))


def rewind(story: Story, since: str, until: str, reason: str) -> None:
    span = ValueRange.parse(since, until)
    operated(story, lambda operator, spec: operator.rewind(spec, span, reason=reason))


def chunks_of(story: Story) -> list[Chunk]:
    with story.ground() as ground:
        return list(ground.catalog.chunks.page(PIPELINE))


def origins(story: Story, run: RunId) -> set[tuple[str, str | None]]:
    """The runs that a run came from by a rewind, and why."""
    with story.ground() as ground:
        edges = ground.catalog.lineage.parents(run)
    assert {edge.kind for edge in edges} <= {EdgeKind.REWIND}
    return {(edge.parent, edge.reason) for edge in edges}


def stored(story: Story) -> list[tuple[Any, ...]]:
    with open_reader(StoreLayout(story.root)) as reader:
        return reader.execute(f"SELECT id, v FROM {STORED} ORDER BY ALL").fetchall()


def at_source(story: Story) -> list[tuple[int, str]]:
    return sorted((row.id, row.v) for row in story.source.rows.values())


def seen_after_each_commit(story: Story) -> list[list[tuple[Any, ...]]]:
    """What a reader may see while a run pulls what was asked for."""
    seen: list[list[tuple[Any, ...]]] = []
    with story.ground() as aside:
        publisher = Publisher(aside.layout, aside.catalog)

        def reached(step: Step) -> None:
            if step is Step.COMMITTED:
                publisher.publish([STORED])
                seen.append(stored(story))

        apply(story, reached=reached, chunks_at_once=1)
    return seen


# The reason -------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-145")
def test_a_rewind_of_what_windows_and_tails_read_tells_its_reason_on_every_edge(
    begin: Begin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = begin(RECIPE["windows"])
    history, second, third = apply(story), tick(story), tick(story)

    rewind(story, *EVERYTHING, "RT-481")
    again = apply(story)

    assert origins(story, again) == {(run, "RT-481") for run in (history, second, third)}
    assert stored(story) == at_source(story)
    monkeypatch.chdir(story.folder)
    assert main(["runs", "show", again]) == 0
    shown = capsys.readouterr().out
    assert [f"{run}  rewind, RT-481" in shown for run in (history, second, third)] == [True] * 3
    assert main(["runs", "show", second]) == 0
    assert f"led to\n  {again}  rewind, RT-481" in capsys.readouterr().out


@pytest.mark.spec("HP-145")
@pytest.mark.parametrize("name", ["windows", "appends"])
def test_a_range_that_only_tails_read_comes_from_the_runs_of_these_tails(begin: Begin, name: str) -> None:
    story = begin(replace(RECIPE[name], updates=False))
    apply(story)
    runs = [tick(story) for _ in range(3)]
    of_the_second = max(story.source.rows[number].at for number in (18, 19))

    rewind(story, of_the_second.isoformat(), "2024-12-31", "bad import")
    again = apply(story)

    assert origins(story, again) == {(run, "bad import") for run in runs[1:]}
    assert stored(story) == at_source(story)


@pytest.mark.spec("HP-145")
def test_a_run_that_does_what_was_asked_for_twice_tells_both_reasons(begin: Begin) -> None:
    story = begin(RECIPE["windows"])
    first = apply(story)

    rewind(story, "2024-01-01", "2024-01-03", "RT-1")
    rewind(story, "2024-01-08", "2024-01-09", "RT-2")
    again = apply(story)

    assert origins(story, again) == {(first, "RT-1"), (first, "RT-2")}


@pytest.mark.spec("HP-145")
@pytest.mark.parametrize("name", ["tokens", "tokens with keys", "changes", "partitions", "passes"])
def test_a_stream_that_is_read_anew_from_its_start_tells_why_with_every_chunk(
    begin: Begin, name: str
) -> None:
    story = begin(RECIPE[name])
    first = apply(story)
    known = len(chunks_of(story))

    operated(story, lambda operator, spec: operator.reset_cursor(spec, "items", "the vendor was wrong"))
    again = apply(story)

    new = [chunk for chunk in chunks_of(story)[known:] if chunk.run == again and chunk.rows]
    assert {chunk.reread and chunk.reread.reason for chunk in new} == {"the vendor was wrong"}
    assert origins(story, again) == {(first, "the vendor was wrong")}
    assert stored(story) == at_source(story)


def test_what_is_planned_after_a_crash_knows_the_reason_too(begin: Begin) -> None:
    story = begin(RECIPE["tokens with keys"])
    apply(story)
    operated(story, lambda operator, spec: operator.reset_cursor(spec, "items", "RT-481"))

    class Ended(BaseException):
        """The end of a process, in a test that goes on."""

    def die(step: Step) -> None:
        if step is Step.COMMITTED:
            raise Ended

    with pytest.raises(Ended):
        apply(story, reached=die)
    known = len(chunks_of(story))
    apply(story)

    follow_up = chunks_of(story)[known]
    assert Piece.parse(follow_up.predicate).after is not None
    assert follow_up.reread is not None
    assert follow_up.reread.reason == "RT-481"


@pytest.mark.spec("HP-145")
def test_the_story_of_a_run_names_the_reason(begin: Begin) -> None:
    story = begin(RECIPE["windows"])
    first = apply(story)
    rewind(story, *EVERYTHING, "RT-481")
    again = apply(story)

    with story.ground() as ground:
        told = story_of(ground.catalog, ground.layout, again)
        asked_at = {chunk.chunk.reread.asked_at for chunk in told.chunks if chunk.chunk.reread}

    ((parent, reason, record),) = {(edge.parent, edge.reason, edge.record) for edge in told.parents}
    assert (parent, reason) == (first, "RT-481")
    assert {record} == {moment.isoformat() for moment in asked_at}


# What readers see -------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-142")
def test_a_pass_that_is_read_again_in_parts_is_seen_as_it_was_until_all_of_them_are_there(
    begin: Begin,
) -> None:
    story = begin(RECIPE["passes"])
    apply(story)
    before = stored(story)
    story.source.grow(1, Random(2))
    rewind(story, *EVERYTHING, "RT-481")
    *others, last = [chunk.chunk for chunk in chunks_of(story) if chunk.status is ChunkStatus.PENDING]
    assert others

    with story.ground() as ground:  # whoever has the last one is faster than all others
        ground.catalog.chunks.skip(PIPELINE, others, ground.clock.now())
        apply_project(ground)
        assert ground.catalog.chunks.get(PIPELINE, last).status is ChunkStatus.DONE  # type: ignore[union-attr]
        seen_early = stored(story)
        ground.catalog.chunks.reopen(PIPELINE, others, ground.clock.now())
    seen = seen_after_each_commit(story)

    assert seen_early == before
    assert [rows for rows in seen if rows not in (before, at_source(story))] == []
    assert seen[-1] == at_source(story)


@pytest.mark.spec("HP-144")
def test_rows_that_are_as_they_were_before_the_wrong_ones_are_seen_again(begin: Begin) -> None:
    story = begin(replace(RECIPE["passes"], parallelism=None))
    story.source.rows = {1: Row(1, 1, "east", "right")}
    apply(story)
    story.source.rows = {1: Row(1, 1, "east", "wrong")}
    with story.ground() as ground:
        run_of(run_now(ground, ground.project.pipeline(PIPELINE)))
    assert stored(story) == [(1, "wrong")]

    story.source.rows = {1: Row(1, 1, "east", "right")}
    rewind(story, *EVERYTHING, "RT-481")
    apply(story)

    assert stored(story) == [(1, "right")]


@pytest.mark.spec("HP-142")
def test_without_a_key_nothing_is_missing_while_a_long_tail_is_read_again(begin: Begin) -> None:
    story = begin(replace(RECIPE["appends"], segment_rows=2))
    apply(story)
    for _ in range(3):
        tick(story, rows=5)
    before = stored(story)
    at = max(row.at for row in story.source.rows.values() if row.id <= 21)
    rewind(story, at.isoformat(), "2024-12-31", "RT-481")

    seen = seen_after_each_commit(story)

    assert [rows for rows in seen if rows != before] == []
    (again,) = [chunk for chunk in chunks_of(story) if chunk.reread is not None]
    assert (Piece.parse(again.predicate).kind, again.rows) == (PieceKind.TAIL, 10)


def test_every_partition_that_is_walked_by_tokens_is_seen_also_without_a_key(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = begin(replace(RECIPE["tokens"], segment_rows=100))
    monkeypatch.setattr(ListedConnector, "partitions", lambda *_: ({"part": "east"}, {"part": "west"}))

    apply(story)

    assert stored(story) == at_source(story)


# Streams ----------------------------------------------------------------------------------------------------


def test_a_source_that_repeats_its_cursor_for_ever_is_found_out(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = begin(RECIPE["tokens"])

    def stuck(_: list[Change]) -> dict[str, int]:
        return {"token": 1}

    monkeypatch.setattr(type(story.source), "cursor_after", lambda _, given: stuck(given))

    with story.ground() as ground:
        (applied,) = apply_project(ground)

    assert isinstance(applied.error, NoProgress)
    assert [(chunk.status, chunk.rows) for chunk in chunks_of(story)] == [
        (ChunkStatus.DONE, 5),
        (ChunkStatus.FAILED, None),
    ]


@pytest.mark.spec("HP-110")
def test_windows_of_different_partitions_are_neighbours_in_the_queue(begin: Begin) -> None:
    story = begin(RECIPE["partitions"])

    apply(story)

    windows = [Piece.parse(chunk.predicate) for chunk in chunks_of(story)]
    windows = [piece for piece in windows if piece.kind is PieceKind.WINDOW]
    assert [piece.partition["part"] for piece in windows] == ["east", "west"] * (len(windows) // 2)
    assert [piece.is_open for piece in windows[-2:]] == [True, True]
    assert stored(story) == at_source(story)


@pytest.mark.spec("HP-110")
def test_a_partition_that_is_new_gets_its_own_history(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    story = begin(RECIPE["partitions"])
    with monkeypatch.context() as early:
        early.setattr(ListedConnector, "partitions", lambda *_: ({"part": "east"},))
        apply(story)
    known = len(chunks_of(story))

    tick(story, rows=0)

    new = [Piece.parse(chunk.predicate) for chunk in chunks_of(story)[known:]]
    assert {piece.partition["part"] for piece in new if piece.kind is PieceKind.WINDOW} == {"west"}
    assert stored(story) == at_source(story)


@pytest.mark.spec("HP-109")
def test_two_chunks_of_one_stream_are_read_one_after_the_other(begin: Begin) -> None:
    story = begin(replace(RECIPE["changes"], parallelism=8))
    apply(story)
    story.source.grow(3, Random(1))
    # What a dead worker was reading, and what somebody planned who reset the cursor meanwhile.
    pieces = [Piece(kind=PieceKind.TAIL, after={"number": 3}), Piece(kind=PieceKind.SEGMENT, pass_number=9)]
    with story.ground() as ground:
        both = [NewChunk(table=STORED, predicate=piece.text()) for piece in pieces]
        ground.catalog.chunks.plan(PIPELINE, "left behind", both, ground.clock.now())
    steps: list[Step] = []

    run = apply(story, reached=steps.append)

    jobs = [step for step in steps if step in (Step.JOB_STARTED, Step.COMMITTED)]
    done = [chunk for chunk in chunks_of(story) if chunk.run == run]
    assert jobs == [Step.JOB_STARTED, Step.COMMITTED] * len(done)
    assert stored(story) == at_source(story)
