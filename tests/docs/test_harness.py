"""The tests of the documentation see what is wrong in a document, and only that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

RunText = Callable[[str], None]


def test_commands_run_in_order_in_one_folder(run_text: RunText) -> None:
    run_text(
        """
        # A guide

        ```console
        $ mkdir shop && cd shop
        $ export CITY=Nairobi
        ```

        Later:

        ```console
        $ echo "$CITY in $(basename "$PWD")"
        Nairobi in shop
        $ printf 'one\\ntwo\\nthree\\n'
        one
        …
        three
        $ echo done in 12.5 s
        done in ... s
        $ echo one \\
          two
        one two
        ```
        """
    )


def test_hakiri_itself_is_on_the_path_with_an_empty_home(run_text: RunText) -> None:
    run_text(
        """
        ```console
        $ hakiri init shop --quiet
        $ cd shop
        $ hakiri pipeline list
        …
        orders …
        …
        $ ls -A "$HOME"
        $ test -z "$(ls -A "$HOME")"
        ```
        """
    )


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("```console\n$ echo two\none\n```", "printed\n\ntwo\n\nnot\n\none"),
        ("```console\n$ printf 'one\\ntwo\\n'\none\n```", "printed"),
        ("```console\n$ false\n```", "`false` ended with 1, not with 0"),
        ("```console\n$ false || true\n$ (exit 3)\n```", "ended with 3, not with 0"),
        ("<!-- exit: 2 -->\n```console\n$ true\n```", "`true` ended with 0, not with 2"),
        ("<!-- exit: 2 -->\n```console\n$ true\n$ exit 2\n```", "holds one command"),
        ("```console\nhakiri plan\n```", "begin commands with `\\$ `"),
        ("```bash\nhakiri plan\n```", "`bash` is not tested"),
        ("```\nhakiri plan\n```", "`` is not tested"),
        ("<!-- norun -->\n```console\n$ false\n```", "no such note"),
        ("<!-- no-run -->\nSome words.\n", "a code block was expected"),
        ("```console\n$ true\n", "is not closed"),
        ("```json\n{'a': 1}\n```", "this is not json"),
        ("```toml\na = \n```", "this is not toml"),
        ("```python\ndef f(:\n```", "this is not python"),
        ('```toml\n[engine]\nmaster = "local[2]"\nmemry = "2g"\n```', "this manifest is refused: .*memry"),
        ('```json\n{"id": "a", "source": {"connector": "github"}}\n```', "this manifest is refused"),
        ('<!-- wrong -->\n```toml\n[project]\nname = "shop"\n```', "is accepted"),
    ],
)
def test_what_a_document_has_wrong_is_told_with_its_line(run_text: RunText, block: str, why: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=rf"(?s)^guide\.md:\d+: .*{why}"):
        run_text(block)


@pytest.mark.parametrize(
    "block",
    [
        "<!-- exit: 3 -->\n```console\n$ echo no; exit 3\nno\n```",
        "<!-- no-run -->\n\n```console\n$ make demo\n```",
        "```console\n$ echo 'asking 2 sources …'; echo one\none\n```",
        "```text\nanything at all\n```",
        '```json\n{"schema_version": 1, "id": 3}\n```',
        '```toml\n[engine]\nmaster = "local[2]"\n```',
        "```toml\n[tool.ruff]\nline-length = 110\n```",
        '```json\n{"id": "a", "source": {"connector": "github"}, "tables": ["issues"]}\n```',
        "<!-- wrong -->\n```toml\n[[pipeline]]\nid = 'A B'\n```",
        "1. First\n\n   ```console\n   $ echo one\n   one\n   ```",
    ],
)
def test_what_is_right_passes(run_text: RunText, block: str) -> None:
    run_text(block)


def test_files_are_written_before_the_commands_that_read_them(run_text: RunText) -> None:
    run_text(
        """
        <!-- file: shop/hakiri.toml -->
        ```toml
        [project]
        name = "shop"
        ```

        <!-- file: shop/pipelines/issues.json -->
        ```json
        {"id": "issues", "source": {"connector": "github"}, "tables": ["issues"]}
        ```

        ```python
        # shop/hello.py
        print("hello")
        ```

        ```console
        $ hakiri -C shop pipeline list --json
        …"issues"…
        $ python shop/hello.py
        hello
        ```
        """
    )


def test_a_file_is_checked_with_the_project_that_it_belongs_to(run_text: RunText) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"guide\.md:\d+: this manifest is refused: .*two places"):
        run_text(
            """
            <!-- file: hakiri.toml -->
            ```toml
            [project]
            name = "shop"

            [[pipeline]]
            id = "issues"
            source = { connector = "github" }
            tables = ["issues"]
            ```

            <!-- file: pipelines/issues.json -->
            ```json
            {"id": "issues", "source": {"connector": "github"}, "tables": ["issues"]}
            ```
            """
        )


def test_a_document_that_starts_a_server_must_say_so(run_text: RunText) -> None:
    starting = '```console\n$ mkdir -p "$HAKIRI_RUNTIME_DIR/servers"\n```\n'

    run_text(f"<!-- needs: spark -->\n\n# A guide\n\n{starting}")
    with pytest.raises(pytest.fail.Exception, match=r"guide\.md starts Spark"):
        run_text(starting)
