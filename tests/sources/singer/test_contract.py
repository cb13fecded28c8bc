"""What every connector promises, for `singer` with a real process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hakiri.sources.errors import AuthExpired, PermanentFailure, TransientFailure
from hakiri.sources.singer import SingerConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

# Every test starts several processes.
pytestmark = pytest.mark.proof
TAP = Path(__file__).with_name("taps") / "shop.py"
TOKEN = "s3cr3t-of-the-shop"


class SmallBatches(SingerConnector):
    batch_records = 3


def row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"thing {number} ✓",
        "at": f"2026-05-11T08:00:{number % 60:02d}Z",
        "price": number / 4,
        "tags": ["a", "b"][: number % 3],
        "about": {"size": number} if number % 2 else None,
        "surprise": number,
    }


def breakage(folder: Path, mood: str) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def broken() -> Iterator[None]:
        (folder / "mood").write_text(mood)
        try:
            yield
        finally:
            (folder / "mood").unlink()

    return broken


class TestSinger(ConnectorContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Subject:
        shop = tmp_path / "shop.json"
        tables = {
            "orders": [row(number) for number in range(7)],
            "keyless": [row(number) for number in range(5)],
            "none": [],
        }
        shop.write_text(json.dumps(tables))
        (tmp_path / "starts").touch()

        def grow(table: str) -> int:
            tables[table] = [*tables[table], row(len(tables[table]) + 100), row(len(tables[table]) + 101)]
            shop.write_text(json.dumps(tables))
            return 2

        config = {
            "tap": [sys.executable, str(TAP)],
            "config": {"shop": str(shop), "token": "${TOKEN}", "keyless": ["keyless"]},
        }
        return Subject(
            make=maker(SmallBatches, config, secrets=("TOKEN",)),
            rows={name: len(rows) for name, rows in tables.items()},
            root=tmp_path,
            secrets={"TOKEN": TOKEN},
            grow=grow,
            calls=lambda: len((tmp_path / "starts").read_text().splitlines()),
            breakages={
                TransientFailure: breakage(tmp_path, "unreachable"),
                AuthExpired: breakage(tmp_path, "locked"),
                PermanentFailure: breakage(tmp_path, "broken"),
            },
        )
