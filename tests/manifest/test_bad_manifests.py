"""Every bad manifest of the corpus gets the whole message that its `expected.txt` holds."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hakiri.core.errors import ExitCode, Place
from hakiri.manifest import (
    Code,
    DuplicatePipeline,
    ManifestInvalid,
    load_project,
    pipeline_schema,
    project_schema,
    render_problems,
)

BAD = Path(__file__).parent / "bad"
CASES = sorted(folder.name for folder in BAD.iterdir())
# Problems of shape, which a JSON Schema can see as well.
SHAPE = {
    Code.UNKNOWN_KEY,
    Code.MISSING_KEY,
    Code.WRONG_TYPE,
    Code.WRONG_VALUE,
    Code.OUT_OF_RANGE,
    Code.EMPTY,
    Code.NO_DEPENDENCIES,
    Code.BAD_NAME,
    Code.BAD_TEXT,
}
# Texts whose grammar is finer than a pattern: a day that does not come, a table that needs another name.
FINER = {
    "start_from_bad",
    "table_name_needs_as",
    "table_names_of_quarantines",
    "secrets_in_addresses",
    "engine_conf_list",
}


def problems_of(case: str) -> ManifestInvalid:
    with pytest.raises(ManifestInvalid) as caught:
        load_project(BAD / case)
    return caught.value


@pytest.mark.spec("HP-013")
@pytest.mark.parametrize("case", CASES)
def test_a_bad_manifest_gets_its_whole_message(case: str) -> None:
    expected = (BAD / case / "expected.txt").read_text(encoding="utf-8")

    assert render_problems(problems_of(case)) + "\n" == expected


def test_the_corpus_shows_every_code_that_there_is() -> None:
    shown = {problem.code for case in CASES for problem in problems_of(case).problems}

    assert shown == set(Code)


def test_no_message_shows_words_of_the_libraries_or_a_secret() -> None:
    texts = [render_problems(problems_of(case)) for case in CASES]

    for word in ("Input should", "pydantic", "type=", "Traceback", "hunter2", "shpat_", "AKIA", "c2VjcmV0"):
        assert not [text for text in texts if word in text]


@pytest.mark.parametrize("case", CASES)
def test_every_problem_names_its_file_and_says_what_to_do(case: str) -> None:
    error = problems_of(case)

    assert error.exit_code is ExitCode.USAGE
    for problem in error.problems:
        assert (BAD / case / problem.place.file).exists()
        assert problem.message[0] in "`abcdefghijklmnopqrstuvwxyz"
        assert not problem.message.endswith(".")
        assert problem.hint


def test_what_is_refused_for_its_shape_is_refused_by_the_schema_too() -> None:
    shaped = [
        case
        for case in CASES
        if case not in FINER and SHAPE & codes_of(case) and parsed_documents(BAD / case)
    ]

    accepted = [
        case for case in shaped if all(is_valid(*document) for document in parsed_documents(BAD / case))
    ]

    assert len(shaped) > 45
    assert accepted == []


def codes_of(case: str) -> set[Code]:
    return {problem.code for problem in problems_of(case).problems}


def is_valid(schema: dict[str, Any], document: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(document)


def parsed_documents(folder: Path) -> list[tuple[dict[str, Any], Any]]:
    found: list[tuple[dict[str, Any], Any]] = []
    for path in [folder / "hakiri.toml", *sorted(folder.glob("pipelines/*.*"))]:
        try:
            text = path.read_text(encoding="utf-8")
            document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError):
            continue
        found.append((project_schema() if path.name == "hakiri.toml" else pipeline_schema(), document))
    return found


@pytest.mark.spec("HP-017")
def test_a_pipeline_defined_twice_is_an_error_of_its_own_with_both_places() -> None:
    error = problems_of("duplicate_pipeline")

    assert isinstance(error, DuplicatePipeline)
    assert error.code == "manifest.duplicate_pipeline"
    assert error.places == (Place("hakiri.toml", 4), Place("pipelines/github-issues.json", 1))
    assert str(error) == "pipeline `github-issues` defined in two places"


def test_a_pipeline_defined_twice_is_one_of_several_problems() -> None:
    error = problems_of("duplicate_pipeline_among_others")

    assert error.code == "manifest.invalid"
    assert not isinstance(error, DuplicatePipeline)
    assert [problem.code for problem in error.problems] == [Code.UNKNOWN_KEY, Code.DUPLICATE_PIPELINE]


@pytest.mark.spec("HP-056")
@pytest.mark.parametrize("case", ["depends_on", "after_json"])
def test_pipelines_cannot_depend_on_each_other(case: str) -> None:
    assert [problem.code for problem in problems_of(case).problems] == [Code.NO_DEPENDENCIES]


@pytest.mark.spec("HP-004")
def test_credentials_of_sync_are_refused_with_the_names_of_their_variables() -> None:
    error = problems_of("sync_credentials")

    assert [problem.code for problem in error.problems] == [Code.CREDENTIAL] * 3
    assert all("HAKIRI_SYNC_KEY_ID and HAKIRI_SYNC_KEY_SECRET" in problem.hint for problem in error.problems)


@pytest.mark.parametrize("case", ["problems_of_many_files", "duplicate_pipeline"])
def test_the_error_survives_pickling_with_its_problems(case: str) -> None:
    error = problems_of(case)

    again = pickle.loads(pickle.dumps(error))

    assert render_problems(again) == render_problems(error)
    assert type(again) is type(error)
