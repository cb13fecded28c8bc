"""The contract with the shell, shown on the installed command itself."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HAKIRI = Path(sys.executable).parent / "hakiri"
HEAVY = ("pyspark", "duckdb", "grpc", "pyarrow", "pandas", "pydantic", "rich", "tomlkit")


def environment(**extra: str) -> dict[str, str]:
    hidden = {"NO_COLOR", "FORCE_COLOR"}
    kept = {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("HAKIRI_")}
    return {**kept, "TERM": "xterm-256color", **extra}


def hakiri(*args: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HAKIRI, *args], cwd=cwd, env=environment(**extra), capture_output=True, text=True, check=False
    )


def on_a_terminal(*args: str, cwd: Path, **extra: str) -> tuple[int, str]:
    """Run with a pseudo-terminal as stdout and stderr; return the exit code and all that was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [HAKIRI, *args], cwd=cwd, env=environment(**extra), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # Linux says EIO when the other side is closed
            pass
        os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def test_data_goes_to_stdout_and_words_to_stderr(tmp_path: Path) -> None:
    done = hakiri("init", "--name", "shop", "--json", cwd=tmp_path)
    said = hakiri("schema", "export", cwd=tmp_path)

    assert (done.returncode, json.loads(done.stdout)["project"], done.stderr) == (0, "shop", "")
    assert (said.returncode, said.stdout) == (0, "")
    assert said.stderr == "wrote .hakiri/schema/pipeline.json\nwrote .hakiri/schema/project.json\n"


def test_an_error_with_json_is_data_on_stdout_and_words_on_stderr(tmp_path: Path) -> None:
    done = hakiri("pipelin", "list", "--json", cwd=tmp_path)

    assert done.returncode == 2
    assert (
        done.stderr
        == "error[usage]: `hakiri` has no command `pipelin`\nhint: did you mean `hakiri pipeline`?\n"
    )
    assert json.loads(done.stdout) == {
        "schema_version": 1,
        "error": {
            "code": "usage",
            "message": "`hakiri` has no command `pipelin`",
            "places": [],
            "hint": "did you mean `hakiri pipeline`?",
            "problems": [],
        },
    }


def test_a_terminal_gets_colours(tmp_path: Path) -> None:
    code, shown = on_a_terminal("nosuch", cwd=tmp_path)

    assert code == 2
    assert shown.startswith(
        "\x1b[1;31merror[usage]:\x1b[0m `hakiri` has no command `nosuch`\n\x1b[36mhint:\x1b[0m "
    )


def test_no_color_is_obeyed_on_a_terminal(tmp_path: Path) -> None:
    _, shown = on_a_terminal("nosuch", cwd=tmp_path, NO_COLOR="1")

    assert "\x1b" not in shown


def test_a_pipe_gets_colours_only_when_forced(tmp_path: Path) -> None:
    plain, forced = hakiri("nosuch", cwd=tmp_path), hakiri("nosuch", cwd=tmp_path, FORCE_COLOR="1")

    assert "\x1b" not in plain.stderr
    assert forced.stderr.startswith("\x1b[1;31merror[usage]:\x1b[0m")


def test_a_traceback_is_shown_only_when_verbose(tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text("[project\n")

    plain, verbose = (hakiri(*more, "pipeline", "list", cwd=tmp_path) for more in ((), ("-v",)))

    assert "Traceback" not in plain.stderr
    assert verbose.stderr.startswith("Traceback (most recent call last):\n")
    assert verbose.stderr.endswith(plain.stderr)


def test_ctrl_c_ends_with_130_and_one_line(tmp_path: Path) -> None:
    hakiri("init", cwd=tmp_path)
    command = [HAKIRI, "pipeline", "create", "x", "--from", "-", "-v"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "reading the pipeline from stdin\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()

    assert (process.returncode, said.splitlines()[-1]) == (130, "interrupted")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [HAKIRI, "--help"],
        cwd=tmp_path,
        env=environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )

    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
@pytest.mark.parametrize("rows", [1, 100_000])
def test_a_full_disk_is_told_once_in_words(tmp_path: Path, form: list[str], rows: int) -> None:
    hakiri("init", "--name", "shop", cwd=tmp_path)

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [
                HAKIRI,
                "query",
                *form,
                f"SELECT range AS n, repeat('x', 99) AS x FROM range({rows})",
                "--quiet",
            ],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error[system]: no space left on device"
    assert done.stderr.count("\n") == 2


def test_an_error_that_finds_no_room_for_its_data_is_told_in_words(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [HAKIRI, "pipelin", "list", "--json"],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith("error[usage]: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", "\\xfc \\u2713"), ("latin-1", "ü \\u2713"), ("utf-8", "ü ✓")]
)
def test_signs_that_stdout_does_not_have_are_written_as_python_does(
    tmp_path: Path, encoding: str, shown: str
) -> None:
    hakiri("init", "--name", "shop", cwd=tmp_path)

    done = subprocess.run(
        [HAKIRI, "query", "-", "--quiet"],
        input="SELECT 'ü ✓' AS a".encode(),
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING=encoding),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout.decode(encoding), done.stderr) == (0, f"a\n{shown}\n", b"")


def test_a_folder_that_was_removed_is_told_in_words(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {HAKIRI} pipeline list"

    done = subprocess.run(["sh", "-c", script], cwd=gone, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("error[system]: no such file or directory\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_is_printed_without_a_terminal(tmp_path: Path, shell: str) -> None:
    done = hakiri("--show-completion", shell, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "_HAKIRI_COMPLETE" in done.stdout


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(words: str) -> list[str]:
        asked = {
            "_HAKIRI_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return hakiri(cwd=tmp_path, **asked).stdout.split()

    assert completed("hakiri pipe") == ["pipeline"]
    assert completed("hakiri pipeline d") == ["describe"]
    assert completed("hakiri init --fo") == ["--force"]


def test_an_unknown_shell_is_refused_with_the_names_of_the_known(tmp_path: Path) -> None:
    done = hakiri("--show-completion", "tcsh", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "error[usage]: there is no completion for the shell `tcsh`\n"
        "hint: choose one of: bash, fish, powershell, pwsh, zsh\n"
    )


@pytest.mark.parametrize("code", ["import hakiri", "from hakiri.cli import main; main(['--help'])"])
def test_import_and_help_load_nothing_heavy(tmp_path: Path, code: str) -> None:
    probe = f"{code}\nimport sys\nprint(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"

    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stderr == "[]\n"


# It is in DuckDB, which comes back to Python only while that is being taken apart.
WITH_A_THREAD_LEFT = """
import sys, threading, time
import duckdb
from hakiri.cli import main

class Lingering:
    def __del__(self, now=time.monotonic) -> None:
        until = now() + 0.1
        while now() < until:
            connection.interrupt()

connection = duckdb.connect()
endless = "SELECT count(*) FROM range(1000000000000)"
threading.Thread(target=connection.execute, args=(endless,), daemon=True).start()
sys.lingering = Lingering()
sys.argv[0] = "hakiri"
sys.exit(main())
"""
WITH_MORE_AT_EXIT = """
import atexit, sys
from hakiri.cli import main

code = main()
atexit.register(print, "and this")
sys.exit(code)
"""


def run_python(code: str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("word", ["--version", "nosuch"])
def test_a_thread_that_is_left_in_a_library_does_not_change_how_a_command_ends(
    tmp_path: Path, word: str
) -> None:
    usual = hakiri(word, cwd=tmp_path)

    ended = run_python(WITH_A_THREAD_LEFT, word, cwd=tmp_path)

    assert (ended.returncode, ended.stdout, ended.stderr) == (usual.returncode, usual.stdout, usual.stderr)


def test_what_is_to_be_called_at_exit_is_called(tmp_path: Path) -> None:
    ended = run_python(WITH_MORE_AT_EXIT, "--version", cwd=tmp_path)

    assert ended.stdout == hakiri("--version", cwd=tmp_path).stdout + "and this\n"
