"""What is in the repository belongs to everybody who clones it, and its tests are all run."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# Written so that no pattern finds itself in this file.
FOREIGN = MappingProxyType(
    {
        "a folder of one machine": re.compile(
            r"(?<![\w.…>)}-])/(?:(?:root|work|tmp/lab)(?=[/\s`'\"),:;]|$)|(?:home|Users)/\w+/)", re.MULTILINE
        ),
        "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
        "a token of a service": re.compile(
            r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36,}|github_pat_\w{22,}|xox[abp]-[\w-]{20,})\b"
        ),
        "a package index of one's own": re.compile(
            r"(?:PIP|UV)_\w*INDEX\w*|--(?:extra-)?index-url|--default[-]index|\btrusted[-]host\b"
            r"|https?://[^\s/]*(?:artifactory|nexus|jfrog|devpi|mirror|registry)[^\s/]*",
            re.IGNORECASE,
        ),
        "a word about how it was written": re.compile(r"helper[ -]agents?|sub-?agents?\b", re.IGNORECASE),
    }
)
SPEC_ID = re.compile(r"(HP|HC|AD|OP|CF)-\d{3}")
WAYS_TO_SKIP = frozenset({"skip", "skipif", "xfail", "importorskip"})
# Path below the root → why its tests may be left out. An entry that is not needed any more is a failure.
MAY_SKIP = MappingProxyType(
    {
        "tests/catalog/test_sqlite_faults.py": "not every system lets a process mount a disk; two other ways "
        "to run out of room are tried on all",
        "tests/catalog/test_sqlite_rights.py": "only root can be somebody else; a file without the right to "
        "write is tried by everybody",
        "tests/engine/test_left_python.py": "processes are looked for in /proc, which only Linux has",
        "tests/pipelines/faults/test_full_disk.py": "not every system lets a process mount a disk; what a "
        "disk refuses is tried on all by the store's own tests",
    }
)


def repository_files() -> list[Path]:
    """Every file that is in the repository or would be with the next `git add`."""
    listed = subprocess.run(
        # Whoever runs the tests need not be the owner of the folder.
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in dict.fromkeys(listed.stdout.split("\0")) if name)
    return [path for path in paths if path.is_file()]


def foreign_lines(text: str) -> Iterator[tuple[int, str]]:
    for what, pattern in FOREIGN.items():
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, what


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def wrong_spec_marks(source: str) -> Iterator[int]:
    """The lines of `spec` marks that do not carry exactly one id of the right form."""
    tree = ast.parse(source)
    right = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and not node.keywords and [*map(_is_spec_id, node.args)] == [True]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) == "pytest.mark.spec" and id(node) not in right:
            yield node.lineno


def _is_spec_id(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SPEC_ID.fullmatch(node.value) is not None
    )


def skips(source: str) -> bool:
    """Whether a test file leaves tests out, on a condition or always."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in WAYS_TO_SKIP
        and dotted(node.value) in {"pytest", "pytest.mark"}
        for node in ast.walk(ast.parse(source))
    )


TESTS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")
}


def test_no_file_holds_a_secret_or_anything_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in repository_files()
        for line, what in foreign_lines(path.read_text("utf-8", "replace"))
    ]

    assert found == []


def test_every_spec_mark_names_a_row_of_the_feature_list() -> None:
    assert [f"{path}:{line}" for path, source in TESTS.items() for line in wrong_spec_marks(source)] == []


def test_no_test_is_left_out_without_a_reason() -> None:
    assert {path for path, source in TESTS.items() if skips(source)} == MAY_SKIP.keys()


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        (("cd /", "root/project"), "a folder of one machine"),
        (("see /", "work"), "a folder of one machine"),
        (('"/', 'home/ada/notes"'), "a folder of one machine"),
        (("-----BEGIN RSA ", "PRIVATE KEY-----"), "a private key"),
        (("gh", "p_", "a1" * 18), "a token of a service"),
        (("pip install --index", "-url https://pypi.org/simple"), "a package index of one's own"),
        (("https://artifact", "ory.example.com/pypi"), "a package index of one's own"),
        (("written by a sub", "agent"), "a word about how it was written"),
    ],
)
def test_what_belongs_to_one_machine_is_seen(pieces: tuple[str, ...], what: str) -> None:
    assert list(foreign_lines(f"first line\n{''.join(pieces)}\n")) == [(2, what)]


@pytest.mark.parametrize(
    "text", ["src/work/x", "/workers", "https://example.com/work/", "/homes", "HOME=/home/a", "{dir}/work/"]
)
def test_other_words_are_left_alone(text: str) -> None:
    assert list(foreign_lines(text)) == []


@pytest.mark.parametrize(
    "mark", ['spec("HP-17")', "spec", "spec()", 'spec("HP-017", "HP-018")', 'spec("hp-017")', "spec(ID)"]
)
def test_a_spec_mark_of_another_form_is_seen(mark: str) -> None:
    assert list(wrong_spec_marks(f"@pytest.mark.{mark}\ndef test(): ...")) == [1]


def test_a_spec_mark_with_an_id_is_right() -> None:
    assert list(wrong_spec_marks('@pytest.mark.spec("HP-017")\ndef test(): ...')) == []


@pytest.mark.parametrize(
    "line", ["pytest.mark.skip", 'pytest.skip("later")', "pytest.mark.xfail(strict=True)"]
)
def test_every_way_to_leave_a_test_out_is_seen(line: str) -> None:
    assert skips(line)
