"""What an apply would do to every pipeline, at every stage of its life, without Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.pipelines.operations.scenes import NOW, T0, window
from tests.support.counted import CountedSource, manifest, moments
from tests.support.past import Shop, pipeline

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.clock import FixedClock
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import Place
from hakiri.manifest import UnknownPipeline, load_project
from hakiri.pipelines import Action, Plan, checked_specs, plan_project
from hakiri.pipelines.asking import ask_sources
from hakiri.pipelines.edits import Edit
from hakiri.pipelines.needs import Need
from hakiri.pipelines.plan import PlannedPipeline
from hakiri.pipelines.soundness import TableNameTaken
from hakiri.sources.errors import UnknownConnector

WHOLE = (window(None, 501), window(501, 1001), window(1001))


def planned(shop: Shop, *, is_offline: bool = False, destination: str = "context") -> Plan:
    """The plan of the whole project, with its catalog as it stands."""
    project = shop.project
    specs = checked_specs(project, None)
    with shop.past(NOW) as past:
        catalog = past.catalog
        answers = {} if is_offline else ask_sources(project, specs, {}, FixedClock(NOW), catalog=catalog)
        return plan_project(
            project, specs, catalog=catalog, answers=answers, default_destination=destination, now=NOW
        )


def only(plan: Plan) -> PlannedPipeline:
    (each,) = plan.pipelines
    return each


def coming(each: PlannedPipeline) -> list[tuple[str, int | None, int | None]]:
    return [(table.store, table.rows, table.chunks) for table in each.tables]


@pytest.mark.spec("HP-032")
def test_pipelines_that_never_ran_are_to_be_created_in_the_order_of_ids(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline("refunds", table='{ name = "orders", as = "refunds" }') + pipeline())
    project = shop.project

    plan = plan_project(
        project, project.pipelines, catalog=None, answers={}, default_destination="context", now=NOW
    )

    assert [(each.id, each.action, each.need, each.place) for each in plan.pipelines] == [
        ("orders", Action.CREATE, Need.NEW, Place("hakiri.toml", 9)),
        ("refunds", Action.CREATE, Need.NEW, Place("hakiri.toml", 4)),
    ]
    assert (plan.project, plan.counts()["create"], plan.has_changes) == ("shop", 2, True)


def test_a_project_without_pipelines_has_no_changes(tmp_path: Path) -> None:
    plan = planned(Shop.make(tmp_path, ""))

    assert (plan.pipelines, plan.has_changes) == ((), False)


@pytest.mark.spec("HP-030")
def test_a_table_that_was_never_read_is_to_come_as_a_whole(tmp_path: Path) -> None:
    each = only(planned(Shop.make(tmp_path)))

    assert coming(each) == [("orders", 1000, 1)]
    (change,) = each.tables[0].changes or ()
    assert str(change) == "table created with 2 columns"


def test_a_table_that_differs_in_case_alone_from_one_of_the_store_is_refused(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
    shop.write(pipeline("anew", table='{ name = "orders", as = "Orders" }'))

    (problem,) = only(planned(shop)).problems

    assert isinstance(problem, TableNameTaken)
    assert problem.places == (Place("hakiri.toml", 7),)
    assert f"{problem}\n{problem.hint}" == (
        "the store has a table `orders`, from which `Orders` differs in case alone: SQL knows no case\n"
        'name it with `as = "orders"` to go on with that table, or give it another name'
    )


@pytest.mark.spec("HP-030")
def test_of_a_history_that_was_broken_off_the_rest_is_to_come(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
        past.did("orders", past.started("orders"), rows=500)

    each = only(planned(shop))

    assert (each.action, each.need, each.chunks_left) == (Action.CONTINUE, Need.UNFINISHED, 2)
    assert coming(each) == [("orders", 500, 2)]


@pytest.mark.spec("HP-030")
def test_a_pipeline_whose_schedule_has_come_pulls_what_is_behind_its_cursor(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='incremental = "id"\nschedule = "every 1h"\n'))
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.put(25, first=1001)

    each = only(planned(shop))

    assert (each.action, each.need) == (Action.PULL, Need.DUE)
    # As if the ids were spread evenly: the source is asked where they begin and end, and not for rows.
    assert coming(each) == [("orders", 25, 1)]


def test_before_its_schedule_comes_a_pipeline_is_up_to_date_whatever_the_source_has(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='incremental = "id"\nschedule = "every 1d"\n'))
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.put(25, first=1001)

    each = only(planned(shop))

    assert (each.action, coming(each)) == (Action.NOTHING, [("orders", 25, 0)])


@pytest.mark.parametrize(
    ("rows", "action", "chunks"), [(0, Action.NOTHING, 0), (10, Action.PULL, 1)], ids=["quiet", "news"]
)
def test_without_a_schedule_the_source_says_whether_there_is_news(
    tmp_path: Path, rows: int, action: Action, chunks: int
) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    if rows:
        shop.put(rows, first=1001)

    each = only(planned(shop))

    assert (each.action, coming(each)) == (action, [("orders", rows, chunks)])


@pytest.mark.parametrize(
    ("rows", "action", "chunks"), [(0, Action.NOTHING, 0), (10, Action.PULL, 1)], ids=["quiet", "news"]
)
def test_rows_behind_a_history_that_left_no_cursor_are_news(
    tmp_path: Path, rows: int, action: Action, chunks: int
) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
        past.finished("orders", rows=1000, cursor=None)
    if rows:
        shop.put(rows, first=1001)

    each = only(planned(shop))

    assert (each.action, coming(each)) == (action, [("orders", rows, chunks)])


def test_the_first_rows_of_a_table_that_was_empty_are_news(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    shop.do("DELETE FROM orders")
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=0, cursor=None)
    before = only(planned(shop))
    shop.put(7)

    each = only(planned(shop))

    assert (before.action, each.action, coming(each)) == (Action.NOTHING, Action.PULL, [("orders", 7, 1)])


def test_an_open_end_without_rows_is_read_from_its_edge(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='incremental = "id"\nschedule = "every 1h"\n'))
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
        past.finished("orders", rows=1000, cursor=None)

    each = only(planned(shop))

    assert coming(each) == [("orders", 0, 1)]


def test_a_table_without_a_cursor_is_read_as_a_whole_again(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='schedule = "every 1h"\n'))
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor=None)

    each = only(planned(shop))

    assert coming(each) == [("orders", 1000, 1)]
    assert each.tables[0].is_reread


def test_a_history_that_was_read_to_its_end_long_ago_is_read_on(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", window())
        past.did("orders", past.started("orders"), rows=900, cursor={"id": 900})

    each = only(planned(shop))

    assert (each.action, coming(each)) == (Action.CONTINUE, [("orders", 100, 1)])


@pytest.mark.parametrize("kind", ["monotonic", "opaque-token", "snapshot-id", "partitioned-monotonic"])
@pytest.mark.spec("HP-030")
def test_every_kind_of_source_is_estimated_before_its_first_row(tmp_path: Path, kind: str) -> None:
    CountedSource.make(tmp_path).put(moments(90, parts=3))
    shop = Shop(tmp_path)
    shop.write(manifest(kind))

    each = only(planned(shop))

    chunks = 3 if kind == "partitioned-monotonic" else 1
    assert coming(each) == [("counted_items", 90, chunks)]


def test_a_new_partition_is_to_come_beside_those_that_are_read(tmp_path: Path) -> None:
    source = CountedSource.make(tmp_path)
    source.put(moments(90, parts=2))
    shop = Shop(tmp_path)
    shop.write(manifest("partitioned-monotonic"))
    schema = pa.schema(
        [("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("part", pa.string()), ("v", pa.string())]
    )
    with shop.past(T0) as past:
        for part in ("part-0", "part-1"):
            piece = window(field="at", partition={"part": part})
            past.began(
                "p",
                piece,
                schema=schema,
                kind=CursorKind.PARTITIONED_MONOTONIC,
                stream=f"counted_items#part={part}",
            )
        run = past.started("p")
        for _ in range(2):
            past.did("p", run, rows=45, cursor={"at": "2024-03-31T00:00:00+00:00"})
        past.moved("p", Phase.BACKFILLING, Phase.STREAMING)
        past.applied("p")
        past.ended("p", run)
    source.put([(500, "2024-02-01T00:00:00+00:00", "part-9", "new")])

    (table,) = only(planned(shop)).tables

    assert (table.chunks, table.changes) == (1, ())
    assert table.rows == 31  # a third of all rows: nobody counts them by partition


@pytest.mark.spec("HP-031")
def test_columns_that_changed_at_the_source_are_told_with_their_rules(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began(
            "orders",
            window(),
            schema=pa.schema([("id", pa.int64()), ("total", pa.float64()), ("old", pa.string())]),
        )
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.do("ALTER TABLE orders ADD COLUMN country TEXT")

    (table,) = only(planned(shop)).tables

    assert [(str(change), change.rule) for change in table.changes or ()] == [
        ("column `old` dropped at the source", "it stays, and new rows have NULL there"),
        ("column `country` added as string", "it is appended, and rows from before have NULL there"),
    ]


@pytest.mark.spec("HP-031")
def test_a_change_that_is_refused_is_told_apart(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(table='{ name = "orders", contract = "freeze" }'))
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.do("ALTER TABLE orders ADD COLUMN country TEXT")

    each = only(planned(shop))

    (table,) = each.tables
    assert (table.changes, [change.column for change in table.refused]) == ((), ["country"])
    assert [problem.code for problem in each.problems] == ["pipelines.schema_incompatible"]


@pytest.mark.parametrize(
    ("start_from", "to_come"),
    [('start_from = "2024-05-01"\n', (0, 0)), ('start_from = "2024-03-01"\n', (61, 2)), ("", (121, 4))],
    ids=["same", "earlier", "none"],
)
def test_what_a_later_start_left_out_is_to_come_when_it_moves_back(
    tmp_path: Path, start_from: str, to_come: tuple[int, int]
) -> None:
    def manifest_with(start: str) -> str:
        return pipeline(
            table='"days"',
            more=f'incremental = "day"\nschedule = "every 1d"\n[pipeline.backfill]\nwindow = "P1M"\n{start}',
        )

    shop = Shop.make(tmp_path, manifest_with('start_from = "2024-05-01"\n'))
    shop.do(
        "CREATE TABLE days (id INTEGER PRIMARY KEY, day TEXT)",
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 151) "
        "INSERT INTO days SELECT i, date('2024-01-01', i || ' days') FROM n",
    )
    with shop.past(T0) as past:
        past.began("orders", window("2024-05-01", field="day"))
        past.finished("orders", rows=31, cursor={"day": "2024-05-31"})
    shop.write(manifest_with(start_from))

    (table,) = only(planned(shop)).tables

    assert (table.rows, table.chunks) == to_come


@pytest.mark.spec("HP-042")
def test_the_plan_after_an_edit_is_the_edit(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='incremental = "id"\nschedule = "every 1d"\n'))
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    assert not planned(shop).has_changes

    shop.write(pipeline(more='incremental = "id"\nschedule = "every 2d"\nretries = 7\n'))
    each = only(planned(shop))

    assert (each.action, each.edits) == (
        Action.UPDATE,
        (
            Edit(key="retries", before=None, after=7),
            Edit(key="schedule", before="every 1d", after="every 2d"),
        ),
    )

    shop.write(pipeline(more='incremental = "id"\nschedule = "every 1d"\n'))
    assert not planned(shop).has_changes


def test_a_pipeline_that_left_the_manifest_is_to_be_removed_once(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", window())
        past.finished("orders", rows=1000, cursor={"id": 1000})
    shop.write("")

    each = only(planned(shop))

    assert (each.id, each.action, each.spec, each.place) == ("orders", Action.REMOVE, None, None)
    with shop.past(NOW) as past:
        past.catalog.pipelines.retire(each.id, NOW)  # type: ignore[arg-type]
    assert planned(shop).pipelines == ()


def test_a_pipeline_that_failed_waits_and_says_why(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
        run = past.started("orders")
        past.chunk_failed("orders", run, "sources.unauthorized", "the source answered 401")
        past.failed("orders", run, "sources.unauthorized", "the source answered 401")

    plan = planned(shop)

    each = only(plan)
    assert (each.action, plan.has_changes) == (Action.WAIT, False)
    assert [(problem.code, str(problem)) for problem in each.problems] == [
        (
            "pipelines.waits_for_decision",
            "pipeline `orders` failed and waits for a decision: the source answered 401",
        )
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (pipeline(more='destination = { connector = "lake" }\n'), "pipelines.unknown_destination"),
        (pipeline(table='"ordres"'), "sources.permanent"),
        (pipeline(table='{ name = "orders", lag = "2h" }'), "chunks.lag_misfit"),
        (pipeline(table='{ name = "orders", lag = 5 }', more=""), "pipelines.lag_unsound"),
        (pipeline(table='{ name = "orders", deletes = "missing" }'), "pipelines.deletes_unsound"),
        (
            pipeline(table='{ name = "orders", expect = [{ predicate = "totl > 0" }] }'),
            "pipelines.bad_expectation",
        ),
    ],
)
def test_what_a_run_would_refuse_is_a_problem_of_the_plan(tmp_path: Path, text: str, code: str) -> None:
    each = only(planned(Shop.make(tmp_path, text)))

    assert [problem.code for problem in each.problems] == [code]


@pytest.mark.spec("HP-108")
def test_several_chunks_at_once_of_what_is_walked_in_order_are_a_problem(tmp_path: Path) -> None:
    CountedSource.make(tmp_path).put(moments(5))
    shop = Shop(tmp_path)
    shop.write(manifest("opaque-token", more="[pipeline.backfill]\nparallelism = 2\n"))

    each = only(planned(shop))

    assert [problem.code for problem in each.problems] == ["chunks.unsafe_parallelism"]


def test_several_chunks_at_once_of_a_table_without_a_key_are_fine_if_a_column_measures_it(
    tmp_path: Path,
) -> None:
    shop = Shop.make(
        tmp_path,
        pipeline(table='"visits"', more='incremental = "at"\n[pipeline.backfill]\nparallelism = 2\n'),
    )
    shop.do(
        "CREATE TABLE visits (at TEXT, page TEXT)",
        "INSERT INTO visits VALUES ('2024-01-01', 'a'), ('2024-03-01', 'b')",
    )

    each = only(planned(shop))

    assert (each.problems, each.warnings) == ((), ())


def test_rows_that_another_id_brought_are_warned_of_where_no_key_replaces_them(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline("visits", table='"visits"'))
    shop.do("CREATE TABLE visits (id INTEGER)")
    with shop.past(T0) as past:
        past.began("visits", window(), primary_key=())
        past.finished("visits", rows=5, cursor={"id": 5})
    shop.write(pipeline("page-visits", table='"visits"'))

    each = planned(shop).pipelines[0]

    (warning,) = each.warnings
    assert warning == (
        "table `visits` has no primary key, so the rows that `visits` brought stay beside those to come; "
        "name a key with `primary_key`, or another table with `as`"
    )


@pytest.mark.spec("HP-116")
def test_more_chunks_at_once_than_there_are_lanes_are_a_warning(tmp_path: Path) -> None:
    CountedSource.make(tmp_path).put(moments(9, parts=3))
    shop = Shop(tmp_path)
    shop.write(manifest("partitioned-monotonic", more="[pipeline.backfill]\nparallelism = 8\n"))

    each = only(planned(shop))

    (warning,) = each.warnings
    assert warning == (
        "`parallelism` is 8, but table `counted_items` has 3 partitions: "
        "chunks of the same one will be read at the same time; "
        "set `parallelism` to 3"
    )


def test_how_the_history_is_cut_is_no_warning_once_it_is(tmp_path: Path) -> None:
    source = CountedSource.make(tmp_path)
    source.put(moments(50))
    shop = Shop(tmp_path)
    shop.write(manifest("monotonic", more='[pipeline.backfill]\nwindow = "1d"\n'))
    before = only(planned(shop))
    with shop.past(T0) as past:
        past.began("p", window(field="at"), schema=pa.schema([("id", pa.int64())]))

    after = only(planned(shop))

    assert (len(before.warnings), after.warnings) == (1, ())


def test_rules_are_looked_at_also_without_the_source(tmp_path: Path) -> None:
    shop = Shop.make(
        tmp_path, pipeline(table='{ name = "orders", expect = [{ predicate = "sum(total) > 0" }] }')
    )

    each = only(planned(shop, is_offline=True))

    assert ([problem.code for problem in each.problems], each.tables) == (["pipelines.bad_expectation"], ())


def test_a_transform_that_is_stale_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline(more='transforms = ["orders"]\n'))

    each = only(planned(shop))

    assert [problem.code for problem in each.problems] == ["transforms.not_compiled"]
    assert coming(each) == [("orders", 1000, 1)]
    assert each.tables[0].changes is None


@pytest.mark.spec("HP-002")
@pytest.mark.spec("HP-011")
def test_a_destination_of_its_own_wins_over_the_default(tmp_path: Path) -> None:
    shop = Shop.make(
        tmp_path,
        pipeline("a", table='{ name = "orders", as = "a" }')
        + pipeline(more='destination = { connector = "context" }\n'),
    )

    plan = planned(shop, is_offline=True, destination="lake")

    assert {each.id: each.destination for each in plan.pipelines} == {"a": "lake", "orders": "context"}


def test_one_pipeline_is_planned_alone_and_nothing_else_is_gone(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline("a", table='{ name = "orders", as = "a" }') + pipeline())
    with shop.past(T0) as past:
        past.catalog.pipelines.note_applied("gone", "{}", "sha256:0", T0)  # type: ignore[arg-type]
        project = shop.project
        plan = plan_project(
            project,
            checked_specs(project, "a"),
            catalog=past.catalog,
            answers={},
            default_destination="context",
            now=NOW,
            is_whole=False,
        )

    assert [each.id for each in plan.pipelines] == ["a"]


def test_an_unknown_pipeline_or_connector_ends_the_plan(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path, pipeline().replace('"sql"', '"sqll"'))
    project = shop.project

    with pytest.raises(UnknownPipeline):
        checked_specs(project, "ordres")
    with pytest.raises(UnknownConnector):
        checked_specs(project, None)


def test_a_plan_runs_nothing_of_the_authors(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    (tmp_path / "transforms").mkdir()
    (tmp_path / "transforms" / "a.py").write_text("raise SystemExit\n")

    assert planned(shop, is_offline=True).has_changes == bool(load_project(tmp_path).pipelines)


def test_the_same_moment_gives_the_same_plan(tmp_path: Path) -> None:
    shop = Shop.make(tmp_path)
    with shop.past(T0) as past:
        past.began("orders", *WHOLE)
        past.passed(timedelta(days=1).total_seconds())

    assert planned(shop) == planned(shop)
