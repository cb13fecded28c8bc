from __future__ import annotations

import pytest

from hakiri.engine.config import EngineConfig, MasterKind, kind_of_master, spark_conf
from hakiri.engine.errors import BadMaster, ReservedConf
from hakiri.engine.machine import GIB, default_heap_mib, memory_bytes


@pytest.mark.parametrize(
    ("master", "kind"),
    [
        ("local", MasterKind.LOCAL),
        ("local[*]", MasterKind.LOCAL),
        ("local[4]", MasterKind.LOCAL),
        ("local[4,3]", MasterKind.LOCAL),
        ("local-cluster[2,1,1024]", MasterKind.LOCAL),
        ("spark://a:7077,b:7077", MasterKind.STANDALONE),
        ("k8s://https://10.0.0.1:6443", MasterKind.KUBERNETES),
        ("yarn", MasterKind.YARN),
        ("sc://host:15002", MasterKind.CONNECT),
        ("sc://host/;token=t;use_ssl=true", MasterKind.CONNECT),
    ],
)
def test_every_kind_of_master_is_known(master: str, kind: MasterKind) -> None:
    assert kind_of_master(master) is kind


@pytest.mark.parametrize(
    "master", ["", "locl[*]", "local[x]", "spark:/a", "http://x", "yarn-cluster", "sc://"]
)
def test_what_is_no_master_is_refused(master: str) -> None:
    with pytest.raises(BadMaster) as refused:
        EngineConfig(master=master, heap_mib=1024)

    assert str(refused.value) == f"`{master}` is not a Spark master"


def test_only_an_sc_master_brings_its_own_server() -> None:
    assert [kind for kind in MasterKind if not kind.needs_server] == [MasterKind.CONNECT]


def test_the_projects_conf_wins_over_our_defaults_but_not_over_what_we_own() -> None:
    config = EngineConfig(master="local[2]", heap_mib=512, conf={"spark.ui.enabled": "true", "spark.x": "1"})

    conf = spark_conf(config)

    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.x"] == "1"
    assert conf["spark.master"] == "local[2]"
    assert conf["spark.driver.memory"] == "512m"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.connect.grpc.binding.address"] == "127.0.0.1"


def test_a_key_that_is_ours_is_refused_with_the_setting_to_use() -> None:
    with pytest.raises(ReservedConf) as refused:
        EngineConfig(heap_mib=512, conf={"spark.master": "yarn", "spark.driver.memory": "9g"})

    assert str(refused.value) == "engine.conf may not set `spark.master`, `spark.driver.memory`"
    assert refused.value.hint == "set engine.master; set engine.driver_memory"


def test_only_a_local_master_is_bound_to_loopback() -> None:
    local = spark_conf(EngineConfig(heap_mib=512))
    standalone = spark_conf(EngineConfig(master="spark://a:7077", heap_mib=512))

    assert local["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in standalone


@pytest.mark.parametrize(
    ("memory", "heap_mib"), [(1 * GIB, 1024), (8 * GIB, 3276), (24 * GIB, 9830), (512 * GIB, 32768)]
)
def test_the_heap_is_two_fifths_of_the_memory_within_bounds(memory: int, heap_mib: int) -> None:
    assert default_heap_mib(memory) == heap_mib


def test_this_machine_has_memory() -> None:
    assert memory_bytes() > GIB // 2
