"""A pipeline's connector in this process: its secrets, its budget, and failures that can be shown."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.own_connectors import connector_text, installed_package, project_with

from hakiri.core.clock import FixedClock
from hakiri.core.errors import HakiriError, Place
from hakiri.core.grammar import Rate
from hakiri.core.secrets import MissingSecret
from hakiri.sources.budget import StoppedWaiting
from hakiri.sources.contract import Read
from hakiri.sources.errors import AuthExpired, BadSourceConfig, ConnectorFailed, PermanentFailure
from hakiri.sources.opening import open_connector

if TYPE_CHECKING:
    from pathlib import Path

MARKER = "marker/of+the secret"
CLOCK = FixedClock(datetime(2026, 5, 11, tzinfo=UTC))
TOKEN = 'token: SecretTemplate = Field(description="It opens.")'
WITH_TOKEN = {"config": '{ token = "${TOKEN}" }', "more": 'secrets = ["TOKEN"]\n'}
ENV = {"TOKEN": MARKER, "OTHER": "not for you"}
HINT = "    return Hint(rate_budget=Rate.parse({'numbers': '60/min'}[table]))\n"


def opened(
    root: Path, text: str, env: dict[str, str] | None = None, *, widen: Any = None, **manifest: str
) -> Any:
    project = project_with(root, "numbers", text, **manifest)
    return open_connector(project.pipeline("p"), project, env or {}, CLOCK, widen=widen)


def failing(problem: str) -> str:
    return connector_text(
        config=TOKEN,
        body=f"def check(self):\n    token = self.config.token.fill(self.context.secrets)\n    {problem}\n",
    )


def test_a_connector_is_open_until_the_block_ends(tmp_path: Path) -> None:
    text = connector_text(body="closed = 0\n\ndef close(self):\n    self.closed += 1\n")

    with opened(tmp_path, text) as connector:
        batches = list(connector.open(Read(table="numbers")))
        assert connector.closed == 0

    assert sum(batch.rows.num_rows for batch in batches) == 6
    assert connector.closed == 1
    assert (connector.context.root, connector.context.clock) == (tmp_path, CLOCK)


@pytest.mark.spec("HP-010")
def test_a_connector_sees_the_secrets_that_its_pipeline_names_and_no_others(tmp_path: Path) -> None:
    with opened(tmp_path, connector_text(config=TOKEN), ENV, **WITH_TOKEN) as connector:
        seen = connector.context.secrets

        assert connector.config.token.fill(seen) == MARKER
    assert seen.keys() == {"TOKEN"}
    assert MARKER not in repr(seen)


@pytest.mark.spec("HP-010")
def test_a_missing_secret_is_told_before_the_connector_is_made(tmp_path: Path) -> None:
    text = connector_text(config=TOKEN, body="def __init__(self, *given):\n    raise SystemExit\n")

    with (
        pytest.raises(MissingSecret, match="`TOKEN` is not set in the environment, wanted by pipeline `p`"),
        opened(tmp_path, text, **WITH_TOKEN),
    ):
        pass


def test_a_wrong_config_is_told_with_the_place_of_the_pipeline(tmp_path: Path) -> None:
    with (
        pytest.raises(BadSourceConfig, match="unknown key `sped`") as caught,
        opened(
            tmp_path,
            connector_text(config='speed: int = Field(1, description="How fast.")'),
            config="{ sped = 2 }",
        ),
    ):
        pass

    assert caught.value.places == (Place("hakiri.toml", 4),)
    assert caught.value.hint == "did you mean `speed`?"


@pytest.mark.spec("HP-111")
@pytest.mark.parametrize(
    ("more", "body", "rate"),
    [
        ("", "", None),
        ("", f"def backfill_hint(self, table):\n{HINT}", "60/min"),
        ('backfill = { rate_budget = "5/s" }\n', f"def backfill_hint(self, table):\n{HINT}", "5/s"),
        ("", "def backfill_hint(self, table):\n    raise PermanentFailure('no such table')\n", None),
    ],
    ids=["none", "of the hint", "of the pipeline", "of no table"],
)
def test_the_budget_is_the_pipelines_else_that_of_the_hint(
    tmp_path: Path, more: str, body: str, rate: str | None
) -> None:
    text = f"from hakiri.core.grammar import Rate\n{connector_text(body=body)}"
    told: list[Rate | None] = []

    with opened(tmp_path, text, more=more, widen=told.append) as connector:
        current = connector.context.budget.shared
        with connector.context.budget.turn():
            pass

    expected = None if rate is None else Rate.parse(rate)
    assert (told, getattr(current, "rate", None)) == ([expected], expected)


def test_whoever_waits_for_a_turn_gives_up_when_the_connector_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path, connector_text(), more='backfill = { rate_budget = "1/h" }\n') as connector:
        budget = connector.context.budget.shared
        budget.take()

    with pytest.raises(StoppedWaiting):
        budget.take()


@pytest.mark.parametrize(
    "problem",
    [
        'raise AuthExpired(f"{token} was refused", hint=f"renew {token}")',
        'raise AuthExpired("refused") from OSError(5, "refused", f"https://host/?key={token}")',
        "raise ValueError(token)",
        'raise OSError(5, "refused", f"https://host/?key={token}")',
        "raise KeyError(('Bearer', token))",
        "error = ValueError('refused'); error.add_note(token); raise error",
        "raise LookupError('refused') from ValueError(token.encode())",
        "raise ExceptionGroup('refused', [ValueError(token)])",
        "raise ExceptionGroup('refused', [OSError(5, 'refused', token)])",
    ],
)
def test_no_secret_leaves_in_a_failure(tmp_path: Path, problem: str) -> None:
    with (
        pytest.raises(HakiriError) as caught,
        opened(tmp_path, failing(problem), ENV, **WITH_TOKEN) as connector,
    ):
        connector.check()

    told = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value)) + str(caught.value)
    assert "marker" not in told
    assert "refused" in told or "***" in told


def test_an_error_of_a_kind_stays_what_it_is(tmp_path: Path) -> None:
    with (
        pytest.raises(AuthExpired, match=r"^\*\*\* was refused$") as caught,
        opened(
            tmp_path, failing('raise AuthExpired(f"{token} was refused")'), ENV, **WITH_TOKEN
        ) as connector,
    ):
        connector.check()

    assert type(caught.value) is AuthExpired


def test_an_error_that_a_connector_lets_through_is_told_with_its_line(tmp_path: Path) -> None:
    text = failing("return {}['a\\nb']")
    line = text.splitlines().index("        return {}['a\\nb']") + 1

    with pytest.raises(ConnectorFailed) as caught, opened(tmp_path, text, ENV, **WITH_TOKEN) as connector:
        connector.check()

    assert str(caught.value) == "connector `numbers` failed: KeyError: 'a\\nb'"
    assert caught.value.places == (Place("connectors/numbers.py", line),)


def test_a_line_in_another_module_of_the_connectors_package_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    project = project_with(tmp_path / "shop", "acme", connector_text())
    (project.root / "connectors" / "acme.py").unlink()
    files = {
        "acme/__init__.py": "",
        "acme/parsing.py": "def parse(text):\n    return int(text)\n",
        "acme/numbers.py": connector_text(
            body="def check(self):\n    from .parsing import parse\n    parse('')\n"
        ),
    }

    with (
        installed_package(tmp_path / "site", files, "acme = acme.numbers:NumbersConnector"),
        pytest.raises(ConnectorFailed, match="`acme` failed: ValueError: invalid literal for int") as caught,
        open_connector(project.pipeline("p"), project, {}, CLOCK) as connector,
    ):
        connector.check()

    assert caught.value.places == (Place(str(tmp_path / "site" / "acme" / "parsing.py"), 2),)


def test_code_of_ours_that_a_connector_is_made_of_is_not_its_own(tmp_path: Path) -> None:
    text = (
        "from hakiri.sources.github import GithubConnector\n\n\n"
        "class NumbersConnector(GithubConnector):\n    pass\n"
    )

    with (
        pytest.raises(TypeError),
        opened(tmp_path, text, config='{ repo = "acme/shop" }') as connector,
    ):
        connector.discover(7)


def test_a_secret_in_an_error_of_nobodys_line_is_told_with_the_place_of_the_pipeline(tmp_path: Path) -> None:
    with (
        pytest.raises(ConnectorFailed, match=r"`numbers` failed: OSError: .* refused: .*\*\*\*") as caught,
        opened(tmp_path, connector_text(config=TOKEN), ENV, **WITH_TOKEN),
    ):
        raise OSError(5, "refused", MARKER)

    assert caught.value.places == (Place("hakiri.toml", 4),)
    assert caught.value.hint == (
        "mend the connector; the rest of what it raised holds a secret, and is not shown"
    )


def test_a_connector_that_cannot_be_made_is_told_with_its_line(tmp_path: Path) -> None:
    text = connector_text(body="def __init__(self, *given):\n    raise RuntimeError('not today')\n")

    with (
        pytest.raises(ConnectorFailed, match="`numbers` failed: RuntimeError: not today"),
        opened(tmp_path, text),
    ):
        pass


def test_an_error_of_whoever_uses_the_connector_is_not_blamed_on_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(tmp_path, connector_text()):
        1 / 0  # noqa: B018


def test_the_connector_is_closed_after_a_failure_too(tmp_path: Path) -> None:
    text = connector_text(body="closed = 0\n\ndef close(self):\n    self.closed += 1\n")

    with pytest.raises(PermanentFailure), opened(tmp_path, text) as connector:
        connector.discover(["letters"])

    assert connector.closed == 1
