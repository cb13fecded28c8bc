"""Where tasks of a cluster reach the process that started them."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from hakiri.engine.config import EngineConfig, MasterKind

# An address that belongs to nobody (RFC 5737): whatever leads there is the way out of this machine.
_ELSEWHERE = "192.0.2.1"
_ANY_PORT = 9


def address_for_tasks(config: EngineConfig) -> str | None:
    """The host at which tasks reach this process; None where they run on this machine.

    Cluster managers are told the driver's own by `spark.driver.host` where it cannot be guessed, and tasks
    find us there too; else it is the address from which this machine speaks to the master.
    """
    if config.kind is MasterKind.LOCAL:
        return None
    named = config.conf.get("spark.driver.host")
    if named is not None and config.kind.needs_server:
        return named
    master = urlsplit(config.master.removeprefix("k8s://")).hostname
    return _own_address(master or _ELSEWHERE)


def _own_address(towards: str) -> str:
    """The address from which this machine would send there. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((towards, _ANY_PORT))
        return str(probe.getsockname()[0])
