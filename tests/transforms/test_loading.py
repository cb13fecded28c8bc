"""Loading the author's files. No Spark: a step is any function from one value to another here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import ExitCode
from hakiri.transforms import LoadedTransform, load_transforms
from hakiri.transforms.errors import BrokenTransform, UnknownPipelineInTransform
from hakiri.transforms.loading import transform_files

PIPELINES = ("orders", "refunds")
STEP = 'import hakiri as hk\n\n\n@hk.pipeline("{id}")\ndef step(rows):\n    return [*rows, "{word}"]\n'

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files into `transforms/` of a project, by name, and gives the project's folder."""

    def write_files(texts: dict[str, str], project: str = "shop") -> Path:
        folder = tmp_path / project / "transforms"
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
        return folder.parent

    return write_files


def through(steps: list[LoadedTransform]) -> Any:
    """What the steps make of an empty list, one after the other."""
    rows: Any = []
    for step in steps:
        rows = step.function(rows)
    return rows


def steps_in(root: Path) -> list[tuple[str, str]]:
    return [(step.pipeline, str(step.place)) for step in load_transforms(root, PIPELINES)]


def test_steps_compose_by_file_and_then_by_line(write: Write) -> None:
    two = STEP.format(id="orders", word="second") + (
        '\n\n@hk.pipeline("orders")\ndef a_name_that_sorts_first(rows):\n    return [*rows, "third"]\n'
    )
    root = write({"b.py": two, "a.py": STEP.format(id="orders", word="first")})

    loaded = load_transforms(root, PIPELINES)

    assert through(loaded) == ["first", "second", "third"]
    assert [str(step.place) for step in loaded] == [
        "transforms/a.py:4",
        "transforms/b.py:4",
        "transforms/b.py:9",
    ]


def test_a_project_without_transforms_has_no_steps(tmp_path: Path, write: Write) -> None:
    assert load_transforms(tmp_path, PIPELINES) == []
    assert load_transforms(write({"helpers.py": "def double(n):\n    return n * 2\n"}), PIPELINES) == []


def test_what_editors_leave_beside_a_file_is_not_loaded(write: Write) -> None:
    root = write({"orders.py": "", ".orders.py": "1 / 0", "orders.py~": "1 / 0"})
    (root / "transforms" / ".#orders.py").symlink_to("nobody@nowhere.1")
    (root / "transforms" / "folder.py").mkdir()

    assert [path.name for path in transform_files(root)] == ["orders.py"]


def test_a_function_for_two_pipelines_is_a_step_of_both(write: Write) -> None:
    root = write(
        {"a.py": 'import hakiri as hk\n@hk.pipeline("orders")\n@hk.pipeline("refunds")\ndef f(x): return x\n'}
    )

    assert steps_in(root) == [("orders", "transforms/a.py:2"), ("refunds", "transforms/a.py:2")]


def test_a_step_with_two_names_is_one_step(write: Write) -> None:
    root = write({"a.py": STEP.format(id="orders", word="x") + "\nalso = step\n"})

    assert steps_in(root) == [("orders", "transforms/a.py:4")]


def test_a_step_that_is_wrapped_by_another_decorator_keeps_its_line(write: Write) -> None:
    loud = (
        "from functools import wraps\n\n\n"
        "def loud(function):\n"
        "    @wraps(function)\n"
        "    def wrapped(rows):\n"
        "        return [word.upper() for word in function(rows)]\n\n"
        "    return wrapped\n\n\n"
        "@loud\n"
    )
    marked = STEP.format(id="orders", word="x").removeprefix("import hakiri as hk\n\n\n")
    root = write({"a.py": f"import hakiri as hk\n{loud}{marked}"})

    [step] = load_transforms(root, PIPELINES)

    assert step.function([]) == ["X"]
    assert str(step.place) == "transforms/a.py:13"


@pytest.mark.parametrize(
    ("written", "hint"),
    [("oders", "did you mean `orders`?"), ("shipments", "name a pipeline of the manifest")],
)
def test_a_misspelt_pipeline_is_refused_with_its_place(write: Write, written: str, hint: str) -> None:
    root = write({"orders.py": STEP.format(id=written, word="x")})

    with pytest.raises(UnknownPipelineInTransform) as refused:
        load_transforms(root, PIPELINES)

    assert str(refused.value) == (
        f"the transform is for pipeline `{written}`, which the manifest does not define"
    )
    assert [str(place) for place in refused.value.places] == ["transforms/orders.py:4"]
    assert (refused.value.hint, refused.value.exit_code) == (hint, ExitCode.USAGE)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("x = 1\ndef f(:\n    pass\n", 2, "SyntaxError: invalid syntax"),
        (
            "\nif True:\npass\n",
            3,
            "IndentationError: expected an indented block after 'if' statement on line 2",
        ),
        ("import os\nimport no_such_module\n", 2, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("from os import no_such_name\n", 1, None),
        ("def f():\n    return {}['id']\n\n\nf()\n", 2, "KeyError: 'id'"),
        ("raise ValueError\n", 1, "ValueError"),
        ("raise ValueError('one.\\ntwo')\n", 1, "ValueError: one"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        (
            "import hakiri as hk\n@hk.pipeline\ndef f(x):\n    return x\n",
            2,
            'TypeError: @hk.pipeline takes the id of a pipeline, as in @hk.pipeline("orders")',
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named_with_its_line(
    write: Write, text: str, line: int, problem: str | None
) -> None:
    root = write({"orders.py": text})

    with pytest.raises(BrokenTransform) as broken:
        load_transforms(root, PIPELINES)

    assert [str(place) for place in broken.value.places] == [f"transforms/orders.py:{line}"]
    assert (broken.value.hint, broken.value.exit_code) == ("mend the file", ExitCode.USAGE)
    assert "\n" not in str(broken.value)
    if problem is not None:
        assert str(broken.value) == f"the transform cannot be loaded: {problem}"


@pytest.mark.parametrize("text", ["def f(:\n", "1 / 0\n"])
def test_an_error_in_a_helper_is_told_with_the_helpers_line(write: Write, text: str) -> None:
    root = write({"orders.py": "import helpers\n", "helpers.py": f"\n\n{text}"})

    with pytest.raises(BrokenTransform) as broken:
        load_transforms(root, PIPELINES)

    assert [str(place) for place in broken.value.places] == ["transforms/helpers.py:3"]


@pytest.mark.parametrize("line", ["from helpers import double", "from .helpers import double"])
def test_a_file_imports_a_helper_beside_it(write: Write, line: str) -> None:
    step = STEP.format(id="orders", word="x").replace("[*rows", "double([*rows").replace("]\n", "])\n")
    root = write({"orders.py": f"{line}\n{step}", "helpers.py": "def double(rows):\n    return rows * 2\n"})

    assert through(load_transforms(root, PIPELINES)) == ["x", "x"]


@pytest.mark.parametrize("line", ["from orders import step", "from .orders import step"])
@pytest.mark.parametrize("file", ["a_first.py", "z_last.py"])
def test_a_step_that_is_imported_by_another_file_is_counted_once(write: Write, line: str, file: str) -> None:
    root = write({"orders.py": STEP.format(id="orders", word="x"), file: f"{line}\n"})

    assert steps_in(root) == [("orders", "transforms/orders.py:4")]


def test_two_projects_with_files_of_the_same_names_do_not_disturb_each_other(write: Write) -> None:
    texts = {"orders.py": "from helpers import WORD\n" + STEP.format(id="orders", word="x")}
    one, two = (
        write(
            {**texts, "helpers.py": f'WORD = "{word}"\n', "x.py": STEP.format(id="orders", word=word)}, word
        )
        for word in ("one", "two")
    )

    first, second, again = (load_transforms(root, PIPELINES) for root in (one, two, one))

    assert (through(first), through(second), through(again)) == (["x", "one"], ["x", "two"], ["x", "one"])
    assert first[0].function.__globals__["WORD"] == "one"
    assert second[0].function.__globals__["WORD"] == "two"


@pytest.mark.parametrize("text", ["import helpers\n", "import helpers\n1 / 0\n"])
def test_nothing_of_the_load_stays_behind(write: Write, text: str) -> None:
    root = write({"orders.py": text, "helpers.py": ""})
    before = set(sys.modules), list(sys.path)

    with suppress(BrokenTransform):
        load_transforms(root, PIPELINES)

    assert (set(sys.modules), sys.path) == before


def test_a_file_named_like_a_module_of_python_hides_nothing(write: Write) -> None:
    root = write(
        {
            "email.py": STEP.format(id="orders", word="x"),
            "orders.py": "import email.message\nassert email.message.Message\n",
        }
    )

    assert steps_in(root) == [("orders", "transforms/email.py:4")]


def test_a_file_may_define_dataclasses_and_look_itself_up(write: Write) -> None:
    root = write(
        {
            "my-orders.py": "from __future__ import annotations\n"
            "import sys\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass Pair:\n    left: int\n    right: list[Pair]\n"
            "assert sys.modules[__name__].Pair is Pair\n" + STEP.format(id="refunds", word="x")
        }
    )

    assert steps_in(root) == [("refunds", "transforms/my-orders.py:12")]
