"""What every connector promises, for `rest` over a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.http_api import http_breakages
from tests.support.paged_api import PagedApi, config_for

from hakiri.sources.rest import RestConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

TOKEN = "s3cr3t-of-the-api"
BY_TIME = {"field": "updated_at", "param": "since", "until_param": "until"}


class SmallBatches(RestConnector):
    batch_records = 3


def record(number: int, second: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"record {number}",
        "updated_at": f"2026-05-11T08:00:{second:02d}Z",
        "inner": {"tags": ["a", "b"][: number % 3]},
    }


class TestRest(ConnectorContract):
    @pytest.fixture
    def source(self) -> Iterator[Subject]:
        with PagedApi(page_records=3) as api:
            # Several records share a second, also across the edges of pages, and some come out of order.
            api.tables = {
                "orders": [record(number, number // 4) for number in range(14)],
                "moves": [record(number, number * 7 % 20) for number in range(11)],
                "keyless": [record(number, number // 3) for number in range(10)],
                "none": [],
            }
            config = config_for(
                api,
                "page",
                {
                    "name": "orders",
                    "primary_key": ["id"],
                    "params": {"sort": "asc"},
                    "incremental": {**BY_TIME, "order": "asc"},
                },
                {"name": "moves", "primary_key": ["id"], "incremental": BY_TIME},
                {"name": "keyless", "columns": {"updated_at": "timestamp"}, "incremental": BY_TIME},
                {"name": "none", "primary_key": ["id"]},
                auth={"type": "bearer", "token": "${TOKEN}"},
            )

            def grow(table: str) -> int:
                number = len(api.tables[table]) + 100
                api.tables[table] += [record(number, 55), record(number + 1, 56)]
                return 2

            yield Subject(
                make=maker(SmallBatches, config, secrets=("TOKEN",)),
                rows={name: len(records) for name, records in api.tables.items()},
                secrets={"TOKEN": TOKEN},
                grow=grow,
                calls=lambda: len(api.calls),
                breakages=http_breakages(api, TOKEN),
            )
