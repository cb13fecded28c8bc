"""What a Spark task needs to open a connector: safe to be seen in a plan, and made whole where it runs."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError, Place
from hakiri.core.secrets import masker, take_secrets
from hakiri.engine import arrow_without_pandas
from hakiri.sources.bridge.failures import told
from hakiri.sources.budget import NoBudget
from hakiri.sources.contract import Connector, Context
from hakiri.sources.desk import DeskAddress, DeskBudget, DeskReport, desk_secrets
from hakiri.sources.failures import failures_told
from hakiri.sources.making import declared_connector


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTask:
    """One source, without its secrets: those are named, and asked for where the read happens.

    `root` is the project's folder. Where tasks run on other machines it may not be there, and the project's
    connectors are then those that the engine has shipped.
    """

    pipeline: str
    connector: str
    config: Mapping[str, Any]
    secrets: tuple[str, ...]
    root: str
    place: Place
    desk: DeskAddress | None
    has_budget: bool

    def text(self) -> str:
        return json.dumps(asdict(self))

    def report(self, label: str) -> DeskReport:
        """Whom a read tells how far it is."""
        return DeskReport(self.desk, label, SystemClock())

    @classmethod
    def parse(cls, text: str) -> SourceTask:
        data = json.loads(text)
        desk = data.pop("desk")
        return cls(
            **data
            | {
                "secrets": tuple(data["secrets"]),
                "place": Place(**data["place"]),
                "desk": None if desk is None else DeskAddress(**desk),
            }
        )


@contextmanager
def connector_in_task(task: SourceTask) -> Iterator[Connector]:
    """The connector, in a process that Spark started.

    What the block raises leaves as `failures_told` says, and typed errors as a TaskFailed for the driver.
    """
    arrow_without_pandas()
    here = task.desk if task.desk is not None and task.desk.is_local else None
    masked = masker(())
    budget = DeskBudget(task.desk, task.pipeline) if task.desk is not None and task.has_budget else None
    try:
        if here is not None:
            secrets = desk_secrets(here, task.secrets)
        else:
            secrets = dict(
                take_secrets(task.secrets, os.environ, wanted_by=f"a task of pipeline `{task.pipeline}`")
            )
        masked = masker(secrets.values())
        root = Path(task.root)
        kind, config = declared_connector(
            task.connector,
            task.config,
            secrets=task.secrets,
            code_root=root if root.is_dir() else None,
            place=task.place,
        )
        context = Context(
            root=root,
            secrets=secrets,
            budget=budget or NoBudget(),
            clock=SystemClock(),
            wait=threading.Event().wait,
        )
        with failures_told(kind, task.connector, root, task.place, secrets.values()):
            connector = kind(config, context)
            try:
                yield connector
            finally:
                connector.close()
    except HakiriError as error:
        raise told(error, masked) from None  # the chain would bring the first error's text along, unmasked
    finally:
        if budget is not None:
            budget.close()
