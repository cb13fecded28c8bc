"""One message of a plan with everything around it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hakiri.transforms.verify.nodes import PACKAGE

if TYPE_CHECKING:
    from google.protobuf.message import Message

_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Node:
    """A message, the message that holds it, and under what name."""

    message: Message
    parent: Node | None
    label: str
    depth: int
    index: int

    @property
    def kind(self) -> str:
        return kind_of(self.message)

    @property
    def path(self) -> str:
        labels = []
        node: Node | None = self
        while node is not None:
            name = getattr(node.message, "function_name", None)
            labels.append(node.label if name is None else f"{node.label}({plain(name)})")
            node = node.parent
        return ".".join(reversed(labels))


class Trouble(NamedTuple):
    """What a check finds: below which field of the message, what is wrong, what to do."""

    field: str
    problem: str
    hint: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What a check may know besides the message itself."""

    node: Node
    inputs: Collection[str]
    may_guess: bool  # looking for the name that was meant takes time, and a hostile plan has many


def kind_of(message: Any) -> str:
    """The name of a message's type, without Spark's package."""
    return str(message.DESCRIPTOR.full_name).removeprefix(PACKAGE)


def plain(name: str) -> str:
    """A name from a plan as it can be shown: short, and nothing that a terminal obeys."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name[:_LONGEST_NAME])
    return shown + ("…" if len(name) > _LONGEST_NAME else "")
