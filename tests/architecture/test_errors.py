"""Every error has a code of its own and reaches the user whole, also from another process."""

from __future__ import annotations

import inspect
import pickle
import pkgutil
import re
from collections import Counter
from datetime import UTC, datetime
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

import hakiri
from hakiri.core.errors import ExitCode, HakiriError, Place, UsageError
from hakiri.core.settings.sections import SETTINGS
from hakiri.manifest import Code, Problem
from hakiri.pipelines.expectations.errors import Broken, Trouble
from hakiri.transforms.verify import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

# A value for a parameter, by its annotation as it is written. An error class that takes something else
# fails here until somebody says what an example of it is, and so thinks of how it is pickled.
EXAMPLES: MappingProxyType[str, Any] = MappingProxyType(
    {
        "bool": True,
        "datetime": datetime(2026, 5, 12, 8, 14, tzinfo=UTC),
        "float": 1.5,
        "int": 3,
        "int | None": 3,
        "str": "x",
        "str | None": "x",
        "tuple[str, ...]": ("a", "b"),
        "datetime | None": datetime(2026, 5, 11, tzinfo=UTC),
        "Iterable[str]": ("a", "b"),
        "Mapping[PipelineId, Sequence[ChunkId]]": {"shop": [1, 2]},
        "SnapshotId | None": "2026-05-11T08-00-00Z-anna-5f0e11-8d1c22aa",
        "Sequence[str]": ["a", "b"],
        "Place": Place("hakiri.toml", 1),
        "Sequence[Place]": [Place("hakiri.toml", 1), Place("pipelines/a.json")],
        "Sequence[Problem]": [
            Problem(
                code=Code.EMPTY, place=Place("hakiri.toml", 1), message="x", others=(Place("b.toml", 2),)
            ),
            Problem(code=Code.SYNTAX, place=Place("c.toml", 3), message="y", hint="z", column=4),
        ],
        "Sequence[HakiriError]": [HakiriError("x"), UsageError("y", places=[Place("a", 1)], hint="z")],
        "Sequence[Refusal]": [Refusal("root.sql", "it is SQL text", "compile it"), Refusal("root", "x", "")],
        "Sequence[Trouble]": [Trouble(name="a", problem="x", hint="y", place=Place("hakiri.toml", 1))],
        "Sequence[Broken]": [Broken(name="a", expected="x", rows=3)],
        "SettingSpec": SETTINGS[0],
    }
)
CODE = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*")


def load_all_modules() -> None:
    def refuse(name: str) -> None:
        raise ImportError(f"`{name}` cannot be imported")

    for module in pkgutil.walk_packages(hakiri.__path__, "hakiri.", onerror=refuse):
        import_module(module.name)


def subclasses_of(error: type[HakiriError]) -> Iterator[type[HakiriError]]:
    yield error
    for subclass in error.__subclasses__():
        yield from subclasses_of(subclass)


def example_of(error: type[HakiriError]) -> HakiriError:
    """An instance with every parameter given, those with defaults too."""
    positional, named = [], {}
    for parameter in inspect.signature(error).parameters.values():
        if parameter.annotation not in EXAMPLES:
            pytest.fail(f"{error.__qualname__}: EXAMPLES has no value for `{parameter}`")
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = EXAMPLES[parameter.annotation]
        else:
            positional.append(EXAMPLES[parameter.annotation])
    return error(*positional, **named)


def facts_of(value: object) -> object:
    """Everything an error holds, in a form that is equal when it is; errors inside errors included."""
    if isinstance(value, HakiriError):
        held = {name: facts_of(part) for name, part in vars(value).items()}
        return (type(value), str(value), facts_of(value.args), held)
    if isinstance(value, tuple | list):
        return (type(value), [facts_of(part) for part in value])
    return value


load_all_modules()
ERRORS = sorted(
    {error for error in subclasses_of(HakiriError) if error.__module__.partition(".")[0] == "hakiri"},
    key=lambda error: (error.__module__, error.__qualname__),
)
every_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__qualname__)


def test_no_two_errors_share_a_code() -> None:
    uses = Counter(error.code for error in ERRORS)

    assert [code for code, count in uses.items() if count > 1] == []


@every_error
def test_a_code_is_words_in_lower_case_joined_by_dots(error: type[HakiriError]) -> None:
    assert CODE.fullmatch(error.code)


@every_error
def test_an_error_says_how_the_command_ends(error: type[HakiriError]) -> None:
    assert isinstance(error.exit_code, ExitCode)
    assert error.exit_code not in {ExitCode.DONE, ExitCode.CHANGES}


@every_error
def test_an_error_says_what_is_wrong_without_a_final_dot(error: type[HakiriError]) -> None:
    problem = str(example_of(error))

    assert problem
    assert not problem.endswith(".")


@every_error
def test_an_error_survives_pickling(error: type[HakiriError]) -> None:
    sent = example_of(error)

    received = pickle.loads(pickle.dumps(sent))

    assert facts_of(received) == facts_of(sent)
