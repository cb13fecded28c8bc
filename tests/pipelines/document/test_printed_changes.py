"""What the document says of changes: what `plan` tells before, schema decisions, and the transform."""

from __future__ import annotations

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.door import Door
from tests.support.github_api import GithubApi
from tests.support.printed import PROJECT, printed
from tests.support.services import busy_repository

pytestmark = pytest.mark.spark
HEAD = '[project]\nname = "warehouse"\n\n'
# The printed one, over PySpark in the place of Polars, and for the one table whose columns it names.
TRANSFORM = """\
import hakiri as hk
from pyspark.sql import functions as F


@hk.pipeline("github-issues", table="issues")
def github_issues_transforms(df):
    return (
        df.withColumn("author", F.col("user.login"))
        .drop("user")
        .withColumns(
            {
                "created_at": F.to_timestamp("created_at"),
                "body_len": F.length("body"),
                "label_names": F.transform("labels", lambda label: label["name"]),
            }
        )
        .where(F.col("state") == "open")
    )
"""


@pytest.mark.spec("HP-030")
@pytest.mark.spec("HP-031")
@pytest.mark.spec("HP-032")
@pytest.mark.spec("HP-042")
def test_plan_tells_rows_to_come_schema_changes_and_new_pipelines_and_apply_does_that(hakiri: Door) -> None:
    source = CountedSource.make(hakiri.folder)
    source.put(moments(40))
    hakiri.write("hakiri.toml", f'{HEAD}{manifest("monotonic")}schedule = "every 15m"\n')

    new = hakiri.done("plan", "--json").data

    assert [(row["id"], row["action"], row["tables"][0]["rows"]) for row in new["pipelines"]] == [
        ("p", "create", 40)
    ]

    hakiri.done("apply")
    source.fact("columns", '{"note": "string"}')
    source.put([(100, "2026-01-01T00:00:00+00:00", "part-0", "new")])
    second = (
        manifest("monotonic")
        .replace('id = "p"', 'id = "q"')
        .replace('"items"', '{ name = "items", as = "others" }')
    )
    hakiri.write("hakiri.toml", f'{HEAD}{manifest("monotonic")}schedule = "every 15m"\n\n{second}')
    planned = hakiri.done("plan", "--json").data

    told = {row["id"]: row for row in planned["pipelines"]}
    assert {name: row["action"] for name, row in told.items()} == {"p": "nothing", "q": "create"}
    (change,) = told["p"]["tables"][0]["changes"]
    assert (change["kind"], change["column"], change["fate"]) == ("add_column", "note", "applied")

    applied = hakiri.done("apply", "--json").data
    assert [(row["id"], row["rows"]) for row in applied["pipelines"]] == [("p", 0), ("q", 41)]
    assert hakiri.query("SELECT count(*) FROM others") == [(41,)]
    hakiri.done("run", "p")
    assert hakiri.query("SELECT id, note FROM counted_items ORDER BY id DESC LIMIT 1") == [(100, None)]


@pytest.mark.spec("HP-044")
@pytest.mark.spec("HP-054")
@pytest.mark.spec("HP-069")
@pytest.mark.spec("HP-070")
@pytest.mark.spec("HP-074")
def test_a_narrower_type_is_rejected_until_schema_accept(hakiri: Door) -> None:
    source = CountedSource.make(hakiri.folder)
    source.put(moments(3))
    source.fact("columns", '{"n": "int64"}')
    hakiri.write("hakiri.toml", f"{HEAD}{manifest('monotonic')}")
    hakiri.done("apply")
    source.fact("columns", '{"n": "int32"}')
    source.put([(4, "2025-01-01T00:00:00+00:00", "part-1", "after")])
    files = sorted(hakiri.store.root.rglob("*.parquet"))

    rejected = hakiri("run", "p")

    assert rejected.code == 1
    assert "column `n` changed from int64 to int32 (int32 holds fewer values than int64)" in rejected.err
    assert "hint: cast it in a transform, or run `hakiri schema accept --pipeline p`" in rejected.err
    assert sorted(hakiri.store.root.rglob("*.parquet")) == files

    hakiri.done("schema", "accept", "--pipeline", "p", "--as", "ada")
    hakiri.done("run", "p")

    assert hakiri.query("SELECT count(*) FROM counted_items") == [(4,)]
    log = hakiri.done("schema", "log", "p", "--json").data["entries"]
    assert [(entry["is_refused"], entry["decided_by"]) for entry in log] == [
        (False, "auto"), (True, "auto"), (False, "operator:ada")
    ]  # fmt: skip


def test_the_printed_transform_shapes_what_lands(hakiri: Door) -> None:
    repository = busy_repository("OpenHackersClub/gctrl", days=4)
    with GithubApi(repository) as api:
        pipeline = printed(PROJECT, github=api.url).partition('[[pipeline]]\nid = "shopify-orders"')[0]
        hakiri.write("hakiri.toml", pipeline)
        hakiri.write("transforms/github_issues.py", TRANSFORM)

        compiled = hakiri.done("compile", "transforms/github_issues.py")
        hakiri.done("apply", "github-issues")

    assert "pipelines/github-issues.transforms.json" in compiled.out
    open_issues = [
        (entry["id"], "octocat", len(entry["body"]), ["bug"])
        for entry in repository.entries.values()
        if "pull_request" not in entry and entry["state"] == "open"
    ]
    assert (
        hakiri.query("SELECT id, author, body_len, label_names FROM github_issues ORDER BY id") == open_issues
    )
    assert hakiri.query("SELECT DISTINCT typeof(created_at) FROM github_issues") == [
        ("TIMESTAMP WITH TIME ZONE",)
    ]
    assert hakiri.query("SELECT count(*) FROM github_comments") == [(len(repository.remarks),)]
