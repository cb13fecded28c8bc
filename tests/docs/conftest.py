"""Documents that are run: their commands, their manifests and their code, block by block.

| in the document | what the test does |
|---|---|
| ` ```console ` | runs the lines that begin with `$ `; the lines below one are its output |
| `…` or `...` in an output | anything; alone on a line, any lines |
| no output lines | the command may print what it likes |
| `<!-- exit: 2 -->` | the one command of the next block must end with this code, not with 0 |
| `<!-- no-run -->` | the next block is not run; `test_documents.py` lists what may stand in one |
| `<!-- file: hakiri.toml -->` | writes the next block into this file; so does a first line `# hakiri.toml` |
| `<!-- wrong -->` | the next block is a manifest that must be refused |
| `<!-- needs: spark -->` | at the top: the document starts Spark |

All commands of a document run in one folder; `cd` and `export` last until its end.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError
from hakiri.engine import EngineHome, stop_servers
from hakiri.manifest import PipelineSpec, ProjectFile, load_project

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN, CHECKED = "console", frozenset({"json", "python", "toml"})
SHOWN = frozenset({"diff", "mermaid", "sql", "text"})
NOTES = frozenset({"exit", "file", "needs", "no-run", "wrong"})
ANYTHING = re.compile(r"…|\.\.\.")
# What a command says only if it takes longer than a second, which it does where much else runs.
LATE = re.compile(r"^(?:asking|checking|reading) .+ …\n", re.MULTILINE)
FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w-]*)")
COMMENT = re.compile(r"\s*<!--\s*(?P<key>[\w-]+)(?::\s*(?P<value>.*?))?\s*-->\s*")
FILE_LINE = re.compile(r"# (?P<file>[\w./-]+\.(?:toml|py))")
SPARK_SECONDS = 300
# Keeps the folder and the exported variables of one command for the next, also when it calls `exit`.
SHELL = """\
. "$DOCS_STATE"
trap 'ended=$?; { export -p; printf "cd %%q\\n" "$PWD"; } > "$DOCS_STATE"; exit $ended' EXIT
%s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced piece of a document, with what the comments before it say about it."""

    language: str
    place: str
    text: str
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def file(self) -> str | None:
        first_line = FILE_LINE.fullmatch(self.text.partition("\n")[0])
        return self.notes.get("file") or (first_line and first_line["file"])

    def refuse(self, why: str) -> None:
        pytest.fail(f"{self.place}: {why}", pytrace=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    name: str
    blocks: tuple[Block, ...]
    needs: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, and the output that the document shows of it."""

    command: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where the commands of one document run, apart from the home and the servers of whoever tests."""

    folder: Path
    home: Path
    runtime: Path
    cache: Path
    state: Path

    @classmethod
    def below(cls, folder: Path) -> Workplace:
        made = cls(**{name: folder / name for name in ("folder", "home", "runtime", "cache", "state")})
        made.folder.mkdir()
        made.home.mkdir()
        made.state.touch()
        return made

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "HAKIRI_RUNTIME_DIR": str(self.runtime),
            "HAKIRI_CACHE_DIR": str(self.cache),
            "DOCS_STATE": str(self.state),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONUNBUFFERED": "1",  # so that stdout and stderr come in the order of their lines
            **{name: os.environ[name] for name in ("JAVA_HOME", "TMPDIR") if name in os.environ},
        }


def read_document(path: Path, name: str) -> Document:
    """The blocks of a document in their order; a comment that means nothing to the tests is refused."""
    blocks: list[Block] = []
    needs: set[str] = set()
    notes: dict[str, str] = {}
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    for number, line in lines:
        place = f"{name}:{number}"
        if comment := COMMENT.fullmatch(line):
            if comment["key"] not in NOTES:
                pytest.fail(f"{place}: no such note; there are {', '.join(sorted(NOTES))}", pytrace=False)
            if comment["key"] == "needs":
                needs.add(comment["value"])
            else:
                notes[comment["key"]] = comment["value"] or ""
        elif opening := FENCE.fullmatch(line.rstrip()):
            inside = []
            for _, text in lines:
                if text.strip().startswith(opening["fence"]) and not text.strip().strip("`"):
                    break
                inside.append(text.removeprefix(opening["indent"]))
            else:
                pytest.fail(f"{place}: this block is not closed", pytrace=False)
            text = textwrap.dedent("\n".join(inside)) + "\n"
            blocks.append(Block(language=opening["language"], place=place, text=text, notes=notes))
            notes = {}
        elif line.strip() and notes:
            pytest.fail(f"{place}: a code block was expected after the note", pytrace=False)
    return Document(name=name, blocks=tuple(blocks), needs=frozenset(needs))


def steps_of(block: Block) -> list[Step]:
    steps: list[Step] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command += "\n" + next(lines, "").removeprefix("> ")
            steps.append(Step(command=command, shown=""))
        elif steps:
            steps[-1] = Step(command=steps[-1].command, shown=f"{steps[-1].shown}{line}\n")
        else:
            block.refuse("output stands before the first command; begin commands with `$ `")
    return steps


def is_output_of(shown: str, printed: str) -> bool:
    """Whether a command printed what the document shows; nothing shown promises nothing."""
    wanted = [line.rstrip() for line in shown.rstrip().splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?"
        if ANYTHING.fullmatch(line.strip())
        else ".*".join(re.escape(part) for part in ANYTHING.split(line)) + r"\n"
        for line in wanted
    )
    actual = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return not wanted or re.fullmatch(pattern, actual) is not None


def run_commands(block: Block, workplace: Workplace) -> None:
    steps = steps_of(block)
    if "exit" in block.notes and len(steps) != 1:
        block.refuse("a block with an exit code holds one command")
    for step in steps:
        done = subprocess.run(
            ["bash", "-c", SHELL % step.command],
            cwd=workplace.folder,
            env=workplace.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        expected_code = int(block.notes.get("exit", 0))
        if done.returncode != expected_code:
            block.refuse(
                f"`{step.command}` ended with {done.returncode}, not with {expected_code}\n{done.stdout}"
            )
        if not is_output_of(step.shown, LATE.sub("", done.stdout)):
            block.refuse(f"`{step.command}` printed\n\n{done.stdout}\nnot\n\n{step.shown}")


def check_text(block: Block, folder: Path) -> None:
    """Write a block to its file, if it has one, and load what it says as far as it can be loaded."""
    try:
        data = parsed(block)
    except (SyntaxError, ValueError) as error:
        block.refuse(f"this is not {block.language}: {error}")
    if block.file:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, "utf-8")
    if isinstance(data, dict) and (problem := manifest_problem(block, data, folder)) is not None:
        is_refused = bool(problem)
        if is_refused and "wrong" not in block.notes:
            block.refuse(f"this manifest is refused: {problem}")
        if not is_refused and "wrong" in block.notes:
            block.refuse("this manifest is said to be wrong, and is accepted")


def parsed(block: Block) -> Any:
    if block.language == "toml":
        return tomllib.loads(block.text)
    return json.loads(block.text) if block.language == "json" else compile(block.text, block.place, "exec")


def manifest_problem(block: Block, data: dict[str, Any], folder: Path) -> str | None:
    """What is wrong with a manifest, empty for a right one, None for data that is no manifest.

    A file is loaded with the project that it now is a part of, a piece of one in a project of its own.
    """
    sections = {field.alias or name for name, field in ProjectFile.model_fields.items()}
    is_pipeline = {"id", "source"} <= data.keys() <= PipelineSpec.model_fields.keys() | {"$schema"}
    is_project = block.language == "toml" and bool(data.keys() & sections)
    if not (is_pipeline or is_project):
        return None
    if block.file:
        path = folder / block.file
        root = path.parent.parent if path.parent.name == "pipelines" else path.parent
        if (root / "hakiri.toml").exists():
            return _problem_of_loading(root)
    with tempfile.TemporaryDirectory() as made:
        project = Path(made)
        named = '[project]\nname = "documented"\n'
        if is_pipeline:
            (project / "pipelines").mkdir()
            (project / "pipelines" / f"documented.{block.language}").write_text(block.text, "utf-8")
            (project / "hakiri.toml").write_text(named, "utf-8")
        else:
            text = block.text if "project" in data else f"{block.text}\n{named}"
            (project / "hakiri.toml").write_text(text, "utf-8")
        return _problem_of_loading(project)


def _problem_of_loading(root: Path) -> str:
    try:
        load_project(root)
    except HakiriError as error:
        return str(error)
    return ""


def run_document(document: Document, workplace: Workplace) -> None:
    """Do all that a document says, in its order; fails at the first thing that is not as it says."""
    for block in document.blocks:
        if "no-run" in block.notes:
            continue
        if block.language == RUN:
            run_commands(block, workplace)
        elif block.language in CHECKED:
            check_text(block, workplace.folder)
        elif block.language not in SHOWN:
            block.refuse(
                f"`{block.language}` is not tested; use one of {', '.join(sorted({RUN, *CHECKED, *SHOWN}))}"
            )
    if "spark" not in document.needs and (workplace.runtime / "servers").exists():
        pytest.fail(f"{document.name} starts Spark; write `<!-- needs: spark -->` at its top", pytrace=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every document is a test of its own; those that start Spark run among the slow ones."""
    if "document" in metafunc.fixturenames:
        slow = [pytest.mark.cluster, pytest.mark.timeout(SPARK_SECONDS)]
        read = [read_document(path, path.relative_to(ROOT).as_posix()) for path in DOCUMENTS]
        metafunc.parametrize(
            "document",
            [pytest.param(one, id=one.name, marks=slow if "spark" in one.needs else ()) for one in read],
        )


@pytest.fixture
def workplace(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workplace]:
    made = Workplace.below(tmp_path)
    if request.node.get_closest_marker("cluster"):
        made.cache.symlink_to(request.getfixturevalue("spark_cache"))
    yield made
    stop_servers(EngineHome(runtime=made.runtime, cache=made.cache), SystemClock(), force=True)


@pytest.fixture
def run(workplace: Workplace) -> Callable[[Document], None]:
    """Runs a document in a folder of its own."""
    return lambda document: run_document(document, workplace)


@pytest.fixture
def run_text(run: Callable[[Document], None], tmp_path: Path) -> Callable[[str], None]:
    """Runs a text as if it were the document `guide.md`."""

    def run_as_document(text: str) -> None:
        path = tmp_path / "guide.md"
        path.write_text(textwrap.dedent(text), "utf-8")
        run(read_document(path, "guide.md"))

    return run_as_document
