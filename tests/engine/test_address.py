from __future__ import annotations

import pytest

from hakiri.engine import EngineConfig
from hakiri.engine.address import address_for_tasks


@pytest.mark.parametrize(
    ("master", "conf", "address"),
    [
        ("local[*]", {}, None),
        ("local-cluster[2,1,1024]", {}, None),
        ("spark://127.0.0.1:7077", {}, "127.0.0.1"),
        ("k8s://https://localhost:6443", {}, "127.0.0.1"),
        ("sc://127.0.0.1:15002", {"spark.driver.host": "10.0.0.7"}, "127.0.0.1"),
        ("spark://master:7077", {"spark.driver.host": "10.0.0.7"}, "10.0.0.7"),
        ("yarn", {"spark.driver.host": "10.0.0.7"}, "10.0.0.7"),
    ],
)
def test_tasks_are_told_where_this_process_is(master: str, conf: dict[str, str], address: str | None) -> None:
    config = EngineConfig(master=master, conf=conf, heap_mib=1024)

    assert address_for_tasks(config) == address
