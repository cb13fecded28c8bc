"""A pipeline's connector, open in this process, and failures of it that can be shown to anybody."""

from __future__ import annotations

import inspect
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hakiri.core.clock import Clock
from hakiri.core.errors import HakiriError, Place
from hakiri.core.secrets import Secret, masker, take_secrets
from hakiri.sources.budget import LateBudget, SharedBudget
from hakiri.sources.contract import Connector, Context
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.making import declared_connector

if TYPE_CHECKING:
    from hakiri.core.grammar import Rate
    from hakiri.manifest import PipelineSpec


class ConnectorFailed(HakiriError):
    """A connector of the project or of a package has raised what no connector should."""

    code = "sources.connector_failed"

    def __init__(self, connector: str, problem: str, place: Place) -> None:
        self.connector = connector
        super().__init__(
            f"connector `{connector}` failed: {problem}",
            places=[place],
            hint="mend that line, or raise an error of `hakiri.sources.errors` there; "
            "--verbose shows the whole traceback",
        )


class RootedProject(Protocol):
    """What is needed of a project: its folder, and where it declares each pipeline."""

    @property
    def root(self) -> Path: ...

    def place_of(self, pipeline_id: str) -> Place: ...


@contextmanager
def open_connector(
    spec: PipelineSpec,
    project: RootedProject,
    env: Mapping[str, str],
    clock: Clock,
    *,
    wait: Callable[[float], object] | None = None,
) -> Iterator[Connector]:
    """The connector of a pipeline until the block ends, with the secrets that the pipeline names alone.

    Raises UnknownConnector, BrokenConnector, BadSourceConfig and MissingSecret before the source is called.
    What the block raises has every secret masked. The budget is the pipeline's, else the one of the hint.
    """
    name, place = spec.source.connector, project.place_of(spec.id)
    kind, config = declared_connector(
        name, spec.source.config, secrets=spec.secrets, code_root=project.root, place=place
    )
    secrets = take_secrets(spec.secrets, env, wanted_by=f"pipeline `{spec.id}`")
    budget = LateBudget()
    context = Context(
        root=project.root,
        secrets=secrets,
        budget=budget,
        clock=clock,
        wait=wait if wait is not None else threading.Event().wait,
    )
    with failures_told(kind, name, project.root, place, secrets.values()):
        connector = kind(config, context)
        try:
            rate = spec.backfill.rate_budget or _hinted_rate(connector, spec)
            if rate is not None:
                budget.shared = SharedBudget(rate, clock)
            yield connector
        finally:
            connector.close()


@contextmanager
def failures_told(
    kind: type[Connector], name: str, root: Path, place: Place, secrets: Iterable[Secret]
) -> Iterator[None]:
    """Let what is raised leave the block without any secret in it or in what it was caused by.

    An error that a connector's own code let through becomes ConnectorFailed, with the line that it came from.
    `place` is where the source is declared.
    """
    masked = masker(secrets)
    try:
        yield
    except HakiriError as error:
        _mask(error, masked)
        raise
    except Exception as error:
        _mask(error, masked)
        line, is_clean = _line_in(kind, error, root), _is_clean(error, masked)
        if line is None and is_clean:
            raise
        problem = f"{type(error).__name__}: {masked(str(error))}".removesuffix(": ")
        told = ConnectorFailed(name, " ".join(problem.split()), line or place)
        raise told from error if is_clean else None


def _hinted_rate(connector: Connector, spec: PipelineSpec) -> Rate | None:
    """The slowest of what the connector hints for the pipeline's tables."""
    rates = [rate for table in spec.tables if (rate := _rate_of(connector, table.name)) is not None]
    return min(rates, key=lambda rate: rate.per_second, default=None)


def _rate_of(connector: Connector, table: str) -> Rate | None:
    try:
        return connector.backfill_hint(table).rate_budget
    except PermanentFailure:
        # The manifest may have the name that the store gives to the table; whoever reads it will tell.
        return None


def _mask(error: BaseException, masked: Callable[[str], str]) -> None:
    """Mask an error in place, with all it was caused by; a cause that cannot be masked is cut off."""
    error.args = tuple(_masked_part(part, masked) for part in error.args)
    for name, value in vars(error).items():
        setattr(error, name, _masked_part(value, masked))
    for name in ("__cause__", "__context__"):
        cause = getattr(error, name)
        if cause is not None:
            _mask(cause, masked)
            if not _is_clean(cause, masked):
                setattr(error, name, None)


def _masked_part(part: Any, masked: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return masked(part)
    if isinstance(part, list | tuple) and any(isinstance(item, str) for item in part):
        return type(part)(_masked_part(item, masked) for item in part)
    return part


def _is_clean(error: BaseException, masked: Callable[[str], str]) -> bool:
    """Whether it tells no secret; some errors make their text of more than their arguments."""
    told = "".join(traceback.format_exception_only(error))
    return masked(told) == told


def _line_in(kind: type[Connector], error: BaseException, root: Path) -> Place | None:
    """The last line of the connector's own file that the error passed through; None for those of ours."""
    if kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return None
    own = inspect.getfile(kind.open)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    if not lines:
        return None
    path = Path(own)
    return Place(str(path.relative_to(root) if path.is_relative_to(root) else path), lines[-1])
