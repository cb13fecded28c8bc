"""What a project asks of Spark, and the configuration that follows from it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from types import MappingProxyType

from hakiri.core.settings import EngineSettings
from hakiri.engine.errors import BadMaster, ReservedConf
from hakiri.engine.machine import default_heap_mib

OWN_KEYS = {
    "spark.master": "set engine.master",
    "spark.remote": "set engine.master to sc://host:port",
    "spark.driver.memory": "set engine.driver_memory",
    "spark.submit.deployMode": "leave it out: the driver always runs beside the command",
    "spark.connect.grpc.binding.address": "leave it out: the server listens on loopback only",
    "spark.connect.grpc.binding.port": "leave it out: the server takes a free port",
    "spark.connect.authenticate.token": "leave it out: every server has a fresh token",
}


class MasterKind(Enum):
    LOCAL = "local"
    STANDALONE = "standalone"
    KUBERNETES = "kubernetes"
    YARN = "yarn"
    CONNECT = "connect"

    @property
    def needs_server(self) -> bool:
        """Whether we start the Connect server ourselves; with sc:// somebody else already did."""
        return self is not MasterKind.CONNECT


_MASTERS = (
    (re.compile(r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[\d+,\s*\d+,\s*\d+\]"), MasterKind.LOCAL),
    (re.compile(r"spark://[^/\s]+"), MasterKind.STANDALONE),
    (re.compile(r"k8s://\S+"), MasterKind.KUBERNETES),
    (re.compile(r"yarn"), MasterKind.YARN),
    (re.compile(r"sc://[^/\s;]+(/.*)?"), MasterKind.CONNECT),
)


def kind_of_master(master: str) -> MasterKind:
    for pattern, kind in _MASTERS:
        if pattern.fullmatch(master):
            return kind
    raise BadMaster(master)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The `[engine]` section after flags and environment had their say."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    heap_mib: int
    idle_timeout: timedelta = timedelta(minutes=10)
    archive: bool = True
    java: str | None = None
    python: str | None = None
    pass_env: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kind_of_master(self.master)
        reserved = tuple(key for key in self.conf if key in OWN_KEYS)
        if reserved:
            raise ReservedConf(reserved, "; ".join(dict.fromkeys(OWN_KEYS[key] for key in reserved)))

    @property
    def kind(self) -> MasterKind:
        return kind_of_master(self.master)


def configured(settings: EngineSettings, memory: int) -> EngineConfig:
    """The engine's configuration from the resolved settings, on a machine with this much memory."""
    asked = settings.driver_memory
    return EngineConfig(
        master=settings.master,
        conf=settings.conf,
        heap_mib=asked.bytes // 1024**2 if asked else default_heap_mib(memory),
        idle_timeout=settings.idle_timeout.total(),
        archive=settings.archive,
        java=settings.java,
        python=settings.python,
        pass_env=settings.env,
    )


def spark_conf(config: EngineConfig) -> dict[str, str]:
    """The whole configuration of a server: what we need, our defaults, then the project's own words."""
    defaults = {
        "spark.app.name": "hakiri",
        # The same rows on every machine: no time zone of the driver's may leak into the data.
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.connect.progress.reportInterval": "500ms",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    fixed = {
        "spark.master": config.master,
        "spark.driver.memory": f"{config.heap_mib}m",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    if config.kind is MasterKind.LOCAL:
        defaults |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return defaults | dict(config.conf) | fixed
