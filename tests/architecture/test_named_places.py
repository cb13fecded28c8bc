"""Clock, environment and randomness are read in a few named places; nothing is swallowed or printed aside."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "hakiri"
SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}

# What makes two runs of the same code differ, or one of them wait.
AMBIENT = re.compile(
    r"datetime\.datetime\.(now|utcnow|today)|datetime\.date\.today"
    r"|time\.(time|monotonic|perf_counter|process_time|thread_time)(_ns)?|time\.(localtime|gmtime|ctime|sleep)"
    r"|os\.(environb?|getenvb?|putenv|unsetenv|urandom|getrandom|getlogin)"
    r"|os\.path\.(expanduser|expandvars)|pathlib\.Path\.(cwd|home)|os\.getcwdb?"
    r"|socket\.gethostname|platform\.node|getpass\.getuser"
    r"|(uuid|random|secrets)\.\w+"
)
# Where they may stand all the same, each with its reason. An entry that is not needed any more is a failure.
NAMED_PLACES = MappingProxyType(
    {
        ("core/clock.py", "datetime.datetime.now"): "the clock of the machine, which everybody else is given",
        ("core/clock.py", "time.monotonic"): "the clock of the machine, which everybody else is given",
        ("core/ids.py", "os.urandom"): "the only randomness that ids and tokens are made of",
        ("cli/entry.py", "os.environ"): "the process enters here and passes its environment on",
        ("cli/entry.py", "pathlib.Path.cwd"): "the process enters here and passes its folder on",
        ("spark/__init__.py", "os.environ"): "a program of somebody else enters here, with its settings",
        ("store/opened.py", "os.environ"): "a program of somebody else enters here, with its settings",
        ("engine/archive.py", "os.environ"): "a process of its own enters here, started by the keeper",
        ("sources/bridge/task.py", "os.environ"): "a Spark task enters here, where the secrets are",
        ("engine/connect.py", "os.environ"): "pyspark takes this one setting from nowhere else",
    }
)
# Tests that ship with the package: they throw dice and start processes, as tests do.
SUITES = ("catalog/testing/", "sources/testing/")
BROAD = frozenset({"Exception", "BaseException"})
FEWEST_WORDS = 3


def origins(tree: ast.AST) -> dict[str, str]:
    """The names that imports bind in a module, each with what it stands for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                names[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def full_name(node: ast.AST, names: dict[str, str]) -> str | None:
    """`datetime.datetime.now` for `datetime.now` after `from datetime import datetime`, else None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = full_name(node.value, names)
        return owner and f"{owner}.{node.attr}"
    return None


def ambient_names(source: str) -> set[str]:
    """What a module takes from its surroundings, whether it calls it or hands it on."""
    tree = ast.parse(source)
    names = origins(tree)
    return {
        found for node in ast.walk(tree) if (found := full_name(node, names)) and AMBIENT.fullmatch(found)
    }


def explained_lines(source: str) -> set[int]:
    """The lines that carry a comment in words; an order to a linter alone is no explanation."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT
        and len(re.sub(r"noqa: [A-Z0-9, ]+|type: ignore\S*", "", token.string).strip("# -").split())
        >= FEWEST_WORDS
    }


def swallowing_lines(source: str) -> Iterator[int]:
    """Where errors vanish: a handler that does nothing, a broad one that forgets what it caught, and
    `suppress` without a word about why."""
    tree = ast.parse(source)
    names, explained = origins(tree), explained_lines(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and (_does_nothing(node) or _forgets(node)):
            yield node.lineno
        elif isinstance(node, ast.Call) and full_name(node.func, names) == "contextlib.suppress":
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if explained.isdisjoint(lines):
                yield node.lineno


def _does_nothing(handler: ast.ExceptHandler) -> bool:
    return all(
        isinstance(step, ast.Pass) or (isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant))
        for step in handler.body
    )


def _forgets(handler: ast.ExceptHandler) -> bool:
    caught = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else BROAD
    )
    steps = [node for step in handler.body for node in ast.walk(step)]
    is_used = any(isinstance(node, ast.Name) and node.id == handler.name for node in steps)
    return bool(caught & BROAD) and not is_used and not any(isinstance(node, ast.Raise) for node in steps)


def printing_lines(source: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def test_clock_environment_and_randomness_are_read_in_the_named_places_only() -> None:
    rooms = {path: source for path, source in SOURCES.items() if not path.startswith(SUITES)}

    found = {(path, name) for path, source in rooms.items() for name in ambient_names(source)}

    assert found == NAMED_PLACES.keys()


def test_no_error_is_swallowed() -> None:
    assert [f"{path}:{line}" for path, source in SOURCES.items() for line in swallowing_lines(source)] == []


def test_nothing_but_the_command_line_prints() -> None:
    below = {path: source for path, source in SOURCES.items() if not path.startswith("cli/")}

    assert [f"{path}:{line}" for path, source in below.items() for line in printing_lines(source)] == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from datetime import datetime\nnow = datetime.now()", "datetime.datetime.now"),
        ("import datetime as dt\nnow = dt.datetime.now", "datetime.datetime.now"),
        ("from time import monotonic as tick\nstart(tick)", "time.monotonic"),
        ("def pause():\n    import time\n    time.sleep(1)", "time.sleep"),
        ("import os.path\nhome = os.environ['HOME']", "os.environ"),
        ("from os import environ", None),
        ("from os import environ\nenviron.get('HOME')", "os.environ"),
        ("from uuid import uuid4\nname = uuid4()", "uuid.uuid4"),
        ("from hakiri.core import secrets\nsecrets.mask", None),
        ("def run(clock, random):\n    clock.now(), random.choice", None),
    ],
)
def test_an_ambient_name_is_seen_however_it_was_imported(source: str, name: str | None) -> None:
    assert ambient_names(source) == ({name} if name else set())


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception: pass",
        "except OSError: ...",
        "except: x = 1",
        "except Exception as error: return None",
    ],
)
def test_a_handler_that_forgets_the_error_is_seen(handler: str) -> None:
    source = f"def f():\n  try: g()\n  {handler}"

    assert list(swallowing_lines(source)) == [3]


@pytest.mark.parametrize(
    "handler",
    ["except OSError: return None", "except Exception as e: tell(e)", "except BaseException: undo(); raise"],
)
def test_a_handler_that_answers_for_the_error_may_stay(handler: str) -> None:
    source = f"def f():\n  try: g()\n  {handler}"

    assert list(swallowing_lines(source)) == []


def test_suppress_needs_words_beside_it() -> None:
    source = (
        "from contextlib import suppress\n"
        "with suppress(OSError): a()\n"
        "with suppress(OSError): b()  # noqa: S110\n"
        "with suppress(OSError): c()  # it may be gone already\n"
    )

    assert list(swallowing_lines(source)) == [2, 3]
