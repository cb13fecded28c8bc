"""From authors' files to artifacts, without Spark."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.compiled import HEAD, STEP, compiled_orders, project_with

from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.transforms import compile_project, fresh_artifacts, orphans, working_plans, write_compiled
from hakiri.transforms.errors import (
    BrokenTransform,
    InputReadTwice,
    NoTransformFile,
    OtherEngine,
    TransformFailed,
    TransformMissing,
    TransformStale,
    UnknownPipelineInTransform,
    UnknownReference,
    UnknownTable,
)
from hakiri.transforms.running import stored_plans
from hakiri.transforms.sql import BadSql
from hakiri.transforms.verify import PlanRefused

KEEP = (
    f"{STEP}def keep(df):\n"
    '    return df.where(F.col("state") == "open").select("id", F.upper("name").alias("name"))\n'
)
KEEP_SQL = "-- @pipeline: orders\nSELECT id, upper(name) AS name FROM input WHERE state = 'open'\n"


@pytest.mark.spec("HP-075")
def test_the_same_source_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    columns = 'F.transform("a", lambda x: x + 1), F.expr("filter(b, y -> y > 1)")'
    text = f"{STEP}def f(df):\n    return df.select({columns})\n"
    project_with(tmp_path, {"orders.py": text})
    script = (
        "import sys; from pathlib import Path\n"
        "from hakiri.manifest import load_project\n"
        "from hakiri.transforms import compile_project\n"
        "sys.stdout.write(compile_project(load_project(Path(sys.argv[1])))[0].text)"
    )

    texts = {
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }

    assert len(texts) == 1
    assert texts == {compile_project(project_with(tmp_path, {}))[0].text}


@pytest.mark.spec("HP-076")
def test_the_artifact_has_the_fields_of_its_schema(tmp_path: Path) -> None:
    compiled = compiled_orders(tmp_path, {"orders.py": KEEP})

    data = json.loads(compiled.text)
    assert list(data) == [
        "$schema", "pipeline_id", "engine", "engine_version", "source_lang", "source_hash", "sources", "plan",
    ]  # fmt: skip
    assert data["$schema"] == "https://hakiri.dev/schemas/v1/transforms.json"
    assert (data["pipeline_id"], data["engine"], data["source_lang"]) == ("orders", "spark", "python")
    assert data["engine_version"].startswith("4.")
    assert data["source_hash"] == f"sha256:{hashlib.sha256(KEEP.encode()).hexdigest()}"
    assert data["sources"] == ["transforms/orders.py"]
    assert list(data["plan"]) == ["*"]
    assert str(tmp_path) not in compiled.text


@pytest.mark.spec("HP-092")
def test_both_surfaces_give_the_same_plan(tmp_path: Path) -> None:
    python = compiled_orders(tmp_path / "python", {"orders.py": KEEP})
    sql = compiled_orders(tmp_path / "sql", {"orders.sql": KEEP_SQL})

    assert python.artifact.plan == sql.artifact.plan
    assert (python.artifact.source_lang, sql.artifact.source_lang) == ("python", "sql")


@pytest.mark.spec("HP-090")
def test_two_steps_are_the_merged_step(tmp_path: Path) -> None:
    two = compiled_orders(
        tmp_path / "two",
        {
            "a.py": f'{STEP}def first(df):\n    return df.where(F.col("state") == "open")\n',
            "b.sql": "-- @pipeline: orders\nSELECT id, upper(name) AS name FROM input\n",
        },
    )
    one = compiled_orders(tmp_path / "one", {"orders.py": KEEP})

    assert two.artifact.plan == one.artifact.plan
    assert two.artifact.source_lang == "python+sql"
    assert two.artifact.sources == ("transforms/a.py", "transforms/b.sql")


def test_a_step_for_one_table_is_only_in_the_plan_of_that_table(tmp_path: Path) -> None:
    compiled = compiled_orders(
        tmp_path,
        {
            "a.py": f'{STEP}def every(df):\n    return df.where("id > 0")\n\n\n'
            '@hk.pipeline("orders", table="items")\ndef items(df):\n    return df.select("id")\n',
        },
    )

    assert list(compiled.artifact.plan) == ["*", "items"]
    assert list(compiled.artifact.plan["*"]) == ["filter"]
    assert list(compiled.artifact.plan["items"]) == ["project"]


@pytest.mark.spec("HP-078")
def test_a_step_of_an_unknown_pipeline_is_refused(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"o.py": f'{HEAD}@hk.pipeline("ordres")\ndef f(df):\n    return df\n'})

    with pytest.raises(UnknownPipelineInTransform) as refused:
        compile_project(project)

    assert refused.value.exit_code is ExitCode.USAGE
    assert refused.value.hint == "did you mean `orders`?"
    assert refused.value.places == (Place("transforms/o.py", 5),)


@pytest.mark.parametrize(
    ("body", "kind", "line", "words"),
    [
        ("df):\n    return df.columns", TransformFailed, 7, "it asks Spark for rows or for a schema"),
        ("df):\n    return df.count()", TransformFailed, 7, "it asks Spark for rows or for a schema"),
        ("df):\n    return 1 / 0", TransformFailed, 7, "ZeroDivisionError: division by zero"),
        ("df):\n    return 7", TransformFailed, 5, "it returned int and not a DataFrame"),
        ('df):\n    return df.where("a >")', BadSql, 5, "expected an expression, the text ends, in `a >`"),
        ("df):\n    return df.join(df, 'id')", InputReadTwice, 5, "reads its input more than once"),
        ("df, cities):\n    return df", UnknownReference, 5, "`cities`"),
        ("df, *rest):\n    return df", BrokenTransform, 5, "`rest` cannot be the name of a reference"),
        ("df):\n    return df.select(F.rand())", PlanRefused, 5, "`rand`"),
    ],
)
def test_what_cannot_be_compiled_is_told_with_the_authors_line(
    tmp_path: Path, body: str, kind: type[HakiriError], line: int, words: str
) -> None:
    project = project_with(tmp_path, {"orders.py": f"{STEP}def f({body}\n"})

    with pytest.raises(kind) as refused:
        compile_project(project)

    assert refused.value.places == (Place("transforms/orders.py", line),)
    assert words in str(refused.value)


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize(
    "body",
    [
        '    @F.udf("int")\n    def g(x):\n        return x\n\n    return df.select(g("id"))\n',
        '    return df.sparkSession.read.text("/etc/passwd")\n',
        '    return df.sparkSession.sql("SELECT 1")\n',
        "    return df.select(F.expr(\"java_method('java.lang.System', 'exit', 1)\"))\n",
        "    return df.select(F.input_file_name())\n",
        "    return df.crossJoin(df)\n",
    ],
)
def test_code_files_and_sessions_are_out_of_reach(tmp_path: Path, body: str) -> None:
    project = project_with(tmp_path, {"orders.py": f"{STEP}def f(df):\n{body}"})

    with pytest.raises(HakiriError) as refused:
        compile_project(project)

    assert refused.value.code.startswith("transforms.")
    assert refused.value.places[0].file == "transforms/orders.py"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("SELECT 1 FROM input\n", 1, "its head does not say whom it serves"),
        (
            "-- @pipelin: orders\nSELECT 1 FROM input\n",
            1,
            "unknown directive `@pipelin`; did you mean `@pipeline`",
        ),
        ("-- about\n-- @pipeline:\nSELECT 1 FROM input\n", 2, "`@pipeline` has no value"),
    ],
)
def test_the_head_of_an_sql_file_says_whom_it_serves(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(BrokenTransform) as refused:
        compile_project(project_with(tmp_path, {"orders.sql": text}))

    assert words in str(refused.value)
    assert refused.value.places == (Place("transforms/orders.sql", line),)


def test_an_error_in_sql_is_told_with_its_line(tmp_path: Path) -> None:
    text = "-- @pipeline: orders\nSELECT id,\n       FROM nowhere\n"

    with pytest.raises(TransformFailed) as refused:
        compile_project(project_with(tmp_path, {"orders.sql": text}))

    assert refused.value.places == (Place("transforms/orders.sql", 3),)


def test_a_step_for_a_table_that_is_not_pulled_is_refused(tmp_path: Path) -> None:
    text = "-- @pipeline: orders\n-- @table: item\nSELECT id FROM input\n"

    with pytest.raises(UnknownTable) as refused:
        compile_project(project_with(tmp_path, {"orders.sql": text}))

    assert refused.value.hint == "did you mean `items`?"


def test_only_the_pipelines_of_the_named_files_are_compiled(tmp_path: Path) -> None:
    refunds = KEEP.replace('"orders"', '"refunds"')
    project = project_with(tmp_path, {"orders.py": KEEP, "refunds.py": refunds})

    assert [c.artifact.pipeline for c in compile_project(project)] == ["orders", "refunds"]
    for name in ("transforms/refunds.py", "refunds.py", str(tmp_path / "transforms" / "refunds.py")):
        assert [c.artifact.pipeline for c in compile_project(project, [name])] == ["refunds"]
    with pytest.raises(NoTransformFile) as refused:
        compile_project(project, ["transforms/refund.py"])
    assert refused.value.hint == "did you mean `transforms/refunds.py`?"


def test_an_artifact_is_written_once_and_found_fresh(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"orders.py": KEEP})
    spec = project.pipeline("orders")
    with pytest.raises(TransformMissing):
        fresh_artifacts(spec, tmp_path)

    first = write_compiled(tmp_path, compile_project(project), only_look=True)
    assert [file.is_changed for file in first] == [True]
    assert not (tmp_path / "pipelines").exists()
    write_compiled(tmp_path, compile_project(project))
    again = write_compiled(tmp_path, compile_project(project))

    assert [(file.path, file.is_changed) for file in again] == [("pipelines/orders.transforms.json", False)]
    (artifact,) = fresh_artifacts(spec, tmp_path)
    assert artifact == compile_project(project)[0].artifact
    assert fresh_artifacts(project.pipeline("refunds"), tmp_path) == ()


@pytest.mark.parametrize("changed", ["orders.py", "helpers.py"])
def test_a_changed_source_or_helper_makes_the_artifact_stale(tmp_path: Path, changed: str) -> None:
    texts = {
        "orders.py": "from helpers import state\n" + KEEP.replace('"open"', "state()"),
        "helpers.py": 'def state():\n    return "open"\n',
    }
    project = project_with(tmp_path, texts)
    write_compiled(tmp_path, compile_project(project))
    fresh_artifacts(project.pipeline("orders"), tmp_path)

    (tmp_path / "transforms" / changed).write_text(f"{texts[changed]}# more\n")

    with pytest.raises(TransformStale) as refused:
        fresh_artifacts(project.pipeline("orders"), tmp_path)
    assert refused.value.hint == "run `hakiri compile`, and commit the file it writes"


def test_an_artifact_without_its_source_is_taken_as_it_is(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"orders.py": KEEP})
    write_compiled(tmp_path, compile_project(project))
    (tmp_path / "transforms" / "orders.py").unlink()

    (artifact,) = fresh_artifacts(project.pipeline("orders"), tmp_path)
    plans, places = working_plans(project, project.pipeline("orders"), "orders")

    assert artifact.source_lang == "python"
    assert len(plans) == 1
    assert places == [Place("pipelines/orders.transforms.json")]


def test_artifacts_that_nobody_uses_are_found(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"orders.py": KEEP})
    write_compiled(tmp_path, compile_project(project))
    (tmp_path / "pipelines" / "gone.transforms.json").write_text("{}")

    assert orphans(project) == ["pipelines/gone.transforms.json"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("", "it is no JSON"),
        ("[]", "it is no JSON object"),
        ("{}", "`$schema` is missing or of the wrong kind"),
        ('{"plan": ' + "[" * 100_000, "it is no JSON"),
    ],
)
def test_a_broken_artifact_is_told(tmp_path: Path, change: str, problem: str) -> None:
    project = project_with(tmp_path, {"orders.py": KEEP})
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "orders.transforms.json").write_text(change)

    with pytest.raises(HakiriError) as refused:
        fresh_artifacts(project.pipeline("orders"), tmp_path)

    assert refused.value.code == "transforms.broken_artifact"
    assert problem in str(refused.value)


def test_a_plan_of_another_generation_is_refused_and_of_another_version_runs(tmp_path: Path) -> None:
    compiled = compiled_orders(tmp_path, {"orders.py": KEEP})
    written = tmp_path / "pipelines" / "orders.transforms.json"
    written.parent.mkdir()
    project = project_with(tmp_path, {})

    def artifact_of(version: str):  # type: ignore[no-untyped-def]
        written.write_text(compiled.text.replace(compiled.artifact.engine_version, version))
        return fresh_artifacts(project.pipeline("orders"), tmp_path)

    assert len(stored_plans(artifact_of("4.9.1"), "orders", ["countries"])) == 1
    with pytest.raises(OtherEngine):
        stored_plans(artifact_of("5.0.0"), "orders", ["countries"])


def test_a_plan_with_a_node_that_this_spark_does_not_know_is_refused(tmp_path: Path) -> None:
    compiled = compiled_orders(tmp_path, {"orders.py": KEEP})
    artifact = compiled.artifact
    strange = type(artifact)(
        **{name: getattr(artifact, name) for name in artifact.__slots__ if name != "plan"},
        plan={"*": {"teleport": artifact.plan["*"]}},
    )

    with pytest.raises(PlanRefused) as refused:
        stored_plans([strange], "orders", [])

    assert "teleport" in str(refused.value)


def test_compiling_starts_no_spark_and_takes_about_a_second(tmp_path: Path) -> None:
    import time

    project_with(tmp_path, {"orders.py": KEEP})
    began = time.monotonic()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("hakiri")), "-C", str(tmp_path), "compile"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "HOME": str(tmp_path)},
    )

    assert (done.returncode, done.stdout) == (
        0,
        "compiled  pipelines/orders.transforms.json  (transforms/orders.py)\n",
    )
    assert time.monotonic() - began < 10  # about one, on a machine that does nothing else
