"""A look at a source: no more is read than is shown, and whatever is broken is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.own_connectors import connector_text, project_with

from hakiri.core.clock import SystemClock
from hakiri.manifest import load_project
from hakiri.sources.errors import BadRecord
from hakiri.sources.looking import check_pipelines, look_at_tables, take_sample
from hakiri.sources.opening import open_connector

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = SystemClock()
WATCHED = """\
given, is_left = 0, False

def open(self, read):
    try:
        for batch in self.counted(read):
            self.given += 1
            yield batch
    finally:
        self.is_left = True

def counted(self, read):
    for n in range(100):
        yield Batch(rows=pa.RecordBatch.from_pylist([{"n": n}], schema=NUMBERS.schema))
"""


def test_no_more_is_read_than_is_shown(tmp_path: Path) -> None:
    project = project_with(tmp_path, "numbers", connector_text(body=WATCHED))
    spec = project.pipeline("p")

    with open_connector(spec, project, {}, CLOCK) as connector:
        sample = take_sample(connector, spec, None, rows=3)

        assert (connector.given, connector.is_left) == (3, True)  # type: ignore[attr-defined]
    assert sample.rows == ((0,), (1,), (2,))
    assert sample.columns == (("n", "int64"),)


def test_a_table_that_has_no_rows_is_an_empty_sample(tmp_path: Path) -> None:
    body = "def open(self, read):\n    return iter(())\n"
    project = project_with(tmp_path, "numbers", connector_text(body=body))
    spec = project.pipeline("p")

    with open_connector(spec, project, {}, CLOCK) as connector:
        assert take_sample(connector, spec, None, rows=3).rows == ()


def test_tables_that_are_pulled_come_first(tmp_path: Path) -> None:
    body = (
        "def discover(self, only=None):\n"
        "    return [Table(name=name, schema=NUMBERS.schema) for name in ('zoo', 'ark', 'numbers')]\n"
    )
    project = project_with(tmp_path, "numbers", connector_text(body=body))
    spec = project.pipeline("p")

    with open_connector(spec, project, {}, CLOCK) as connector:
        seen = [(each.table.name, each.is_pulled) for each in look_at_tables(connector, spec)]

    assert seen == [("numbers", True), ("ark", False), ("zoo", False)]


@pytest.mark.parametrize(
    ("problem", "code", "found"),
    [
        ("raise AuthExpired('who are you')", "sources.auth_expired", "who are you"),
        ("return {}[1]", "sources.connector_failed", "connector `numbers` failed: KeyError: 1"),
    ],
)
def test_whatever_a_check_raises_is_an_answer(tmp_path: Path, problem: str, code: str, found: str) -> None:
    text = connector_text(body=f"def check(self):\n    {problem}\n")
    project = project_with(tmp_path, "numbers", text)
    counts: list[int] = []

    (answer,) = check_pipelines(project.pipelines, project, {}, CLOCK, on_answer=counts.append)

    assert (answer.pipeline, answer.found, counts) == ("p", found, [1])
    assert answer.error is not None
    assert answer.error.code == code


@pytest.mark.parametrize(
    ("before", "after", "found", "hint"),
    [
        ('["numbers"]', '["numbres"]', "there is no table `numbres`", ""),
        (
            '["numbers"]',
            '["numbers"]\nincremental = "m"',
            "table `numbers` has no column `m` to be `incremental` by",
            "use one of n",
        ),
        (
            '["numbers"]',
            '["numbers"]\nincremental = "N"',
            "table `numbers` has no column `N` to be `incremental` by",
            "did you mean `n`?",
        ),
    ],
)
def test_a_check_asks_for_the_tables_and_the_column_that_the_pipeline_names(
    tmp_path: Path, before: str, after: str, found: str, hint: str
) -> None:
    project_with(tmp_path, "numbers", connector_text())
    manifest = tmp_path / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace(before, after))
    project = load_project(tmp_path)

    (answer,) = check_pipelines(project.pipelines, project, {}, CLOCK, on_answer=lambda _: None)

    assert answer.found == found
    assert answer.error is not None
    assert answer.error.hint == hint


def test_an_interrupt_in_a_check_ends_them_all(tmp_path: Path) -> None:
    text = connector_text(body="def check(self):\n    raise KeyboardInterrupt\n")
    project = project_with(tmp_path, "numbers", text)

    with pytest.raises(KeyboardInterrupt):
        check_pipelines(project.pipelines, project, {}, CLOCK, on_answer=lambda _: None)


@pytest.mark.parametrize(("key", "names"), [("", None), (', on_bad_row = "quarantine"', ["Ada", "Cy"])])
def test_a_sample_goes_on_without_the_rows_that_a_run_would_set_aside(
    tmp_path: Path, key: str, names: list[str] | None
) -> None:
    (tmp_path / "a.csv").write_text("name,n\nAda,1\nBo,much\nCy,3\n")
    (tmp_path / "hakiri.toml").write_text(
        '[project]\nname = "shop"\n\n[[pipeline]]\nid = "p"\n'
        'source = { connector = "files", config = { path = "*.csv", columns = { n = "int" } } }\n'
        f'tables = [{{ name = "people"{key} }}]\n'
    )
    project = load_project(tmp_path)
    spec = project.pipeline("p")

    with open_connector(spec, project, {}, CLOCK) as connector:
        if names is None:
            with pytest.raises(BadRecord):
                take_sample(connector, spec, None, rows=5)
        else:
            sample = take_sample(connector, spec, "people", rows=5)
            assert [row[0] for row in sample.rows] == names
