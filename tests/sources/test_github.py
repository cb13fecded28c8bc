"""The connector `github`, against a small GitHub on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.github_api import GithubApi, Repository

from hakiri.sources.github import GithubConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

TOKEN = "ghp_loopback"


class SmallBatches(GithubConnector):
    batch_records = 50


def filled(name: str, *, count: int = 130, first_id: int = 10_000) -> Repository:
    """Issues and pull requests of which several were changed in the same second, and comments."""
    repository = Repository(name=name, first_id=first_id)
    for number in range(1, count + 1):
        if number % 3:
            repository.add_issue(number, seconds=number // 2, state="closed" if number % 2 else "open")
        else:
            repository.add_pull_request(number, seconds=number // 2)
    for number in range(1, 8):
        repository.add_comment(number, seconds=number * 60)
    return repository


class TestGithub(ConnectorContract):
    @pytest.fixture
    def source(self) -> Iterator[Subject]:
        with GithubApi(filled("octo/one"), filled("octo/two", count=9, first_id=50_000), token=TOKEN) as api:
            config: dict[str, Any] = {"repo": ["octo/one", "octo/two"], "base_url": api.url}

            def grow(table: str) -> int:
                two = api.repositories["octo/two"]
                number = len(two.entries) + len(two.remarks) + 1000
                two.add_issue(number, seconds=5000)
                two.add_pull_request(number + 1, seconds=5000)
                two.add_comment(number + 2, seconds=5000)
                return 1

            yield Subject(
                make=maker(SmallBatches, config),
                rows={"issues": 93, "pull_requests": 46, "comments": 14},
                secrets={"GITHUB_TOKEN": TOKEN},
                incremental=dict.fromkeys(("issues", "pull_requests", "comments"), "updated_at"),
                grow=grow,
                calls=lambda: len(api.calls),
            )
