from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakiri.core.errors import Place
from hakiri.manifest import Project, UnknownPipeline, load_project
from hakiri.pipelines import Action, plan_project

HEAD = '[project]\nname = "shop"\n'
SOURCE = 'source = {{ connector = "files", config = {{ path = "*.csv" }} }}'
PIPELINE = f'[[pipeline]]\nid = "{{id}}"\n{SOURCE}\ntables = ["t"]\n'

Load = Callable[..., Project]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A project with this manifest and these other files."""

    def load_files(manifest: str, **files: str) -> Project:
        (tmp_path / "hakiri.toml").write_text(manifest)
        for name, text in files.items():
            folder, _, stem = name.partition("__")
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{stem}.py").write_text(text)
        return load_project(tmp_path)

    return load_files


def test_every_pipeline_is_to_be_created_in_the_order_of_ids(load: Load) -> None:
    project = load(HEAD + PIPELINE.format(id="refunds") + PIPELINE.format(id="orders"))

    plan = plan_project(project, default_destination="context")

    assert [(planned.spec.id, planned.action, planned.place) for planned in plan.pipelines] == [
        ("orders", Action.CREATE, Place("hakiri.toml", 7)),
        ("refunds", Action.CREATE, Place("hakiri.toml", 3)),
    ]
    assert (plan.project, plan.counts(), plan.has_changes) == ("shop", {"create": 2}, True)


def test_a_project_without_pipelines_has_no_changes(load: Load) -> None:
    plan = plan_project(load(HEAD), default_destination="context")

    assert (plan.pipelines, plan.counts(), plan.has_changes) == ((), {"create": 0}, False)


@pytest.mark.spec("HP-002")
def test_a_pipeline_without_a_destination_gets_the_default(load: Load) -> None:
    project = load(HEAD + PIPELINE.format(id="orders"))

    plan = plan_project(project, default_destination="warehouse")

    assert [planned.destination for planned in plan.pipelines] == ["warehouse"]


@pytest.mark.spec("HP-011")
def test_a_destination_of_its_own_wins_over_the_default(load: Load) -> None:
    project = load(HEAD + PIPELINE.format(id="orders") + 'destination = { connector = "lake" }\n')

    plan = plan_project(project, default_destination="warehouse")

    assert [planned.destination for planned in plan.pipelines] == ["lake"]


def test_one_pipeline_is_planned_alone(load: Load) -> None:
    project = load(HEAD + PIPELINE.format(id="refunds") + PIPELINE.format(id="orders"))

    plan = plan_project(project, only="refunds", default_destination="context")

    assert [planned.spec.id for planned in plan.pipelines] == ["refunds"]
    assert plan.counts() == {"create": 1}


def test_an_unknown_pipeline_is_told_with_the_nearest(load: Load) -> None:
    project = load(HEAD + PIPELINE.format(id="orders"))

    with pytest.raises(UnknownPipeline) as refused:
        plan_project(project, only="ordres", default_destination="context")

    assert (str(refused.value), refused.value.hint) == (
        "no pipeline has the id `ordres`",
        "did you mean `orders`?",
    )


def test_a_plan_runs_nothing_of_the_authors(load: Load) -> None:
    project = load(HEAD, transforms__b="raise SystemExit\n", transforms__a="1 / 0\n")

    plan = plan_project(project, default_destination="context")

    assert plan.has_changes == bool(project.pipelines)
