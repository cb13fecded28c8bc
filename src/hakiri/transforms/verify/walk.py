"""Going through a plan by what Spark's protocol says of itself, and refusing what the tables do not allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hakiri.transforms.verify.errors import Refusal
from hakiri.transforms.verify.limits import DEEPEST_PLAN, LONGEST_TEXT_BYTES, MOST_NODES
from hakiri.transforms.verify.nodes import ALLOWED, REFUSED, REQUIRED
from hakiri.transforms.verify.reasons import FORMAT_OF_SPARK, Reason
from hakiri.transforms.verify.scope import Node, kind_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.message import Message

_EMPTY_VALUES = (False, "", "{}")


def walked(root: Message, refusals: list[Refusal]) -> list[Node]:
    """Every message of the plan that the tables allow, parents first; what they do not goes to `refusals`.

    What stands inside a refused field is not looked at.
    """
    nodes = [Node(root, None, "root", 1, 0)]
    for node in nodes:  # grows while it is gone through
        refusals.extend(_faults(node))
        for label, message in _children(node, refusals):
            if len(nodes) >= MOST_NODES:
                refusals.append(
                    Refusal("root", f"the plan has more than {MOST_NODES} nodes", "make it smaller")
                )
                return nodes
            nodes.append(Node(message, node, label, node.depth + 1, len(nodes)))
    return nodes


def is_allowed(kind: str, field: str) -> bool:
    return field in ALLOWED.get(kind, ())


def reason_against(kind: str, field: str) -> Reason | None:
    """Why a field is refused; None if it is allowed, or if nobody has decided."""
    return REFUSED.get(kind, {}).get(field) or REFUSED["*"].get(field)


def _faults(node: Node) -> Iterator[Refusal]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    if len(UnknownFieldSet(node.message)) > 0:
        yield Refusal(
            node.path, "it has fields that this version of Spark does not know", FORMAT_OF_SPARK.hint
        )
    for name in sorted(REQUIRED.get(node.kind, ())):
        if not _is_there(node.message, name):
            yield Refusal(node.path, f"it has no `{name}`", FORMAT_OF_SPARK.hint)


def _is_there(message: Any, name: str) -> bool:
    if name in message.DESCRIPTOR.oneofs_by_name:
        return message.WhichOneof(name) is not None
    return bool(message.HasField(name))


def _children(node: Node, refusals: list[Refusal]) -> Iterator[tuple[str, Message]]:
    for field, value in node.message.ListFields():
        if not is_allowed(node.kind, field.name):
            if _says_something(field, value):
                refusals.append(_refused(node, field))
        elif field.message_type is None:
            refusals.extend(_scalar_faults(node, field, value))
        elif node.depth >= DEEPEST_PLAN:
            refusals.append(
                Refusal(
                    f"{node.path}.{field.name}",
                    f"the plan is more than {DEEPEST_PLAN} levels deep",
                    "take several steps at once, with one `select` or `withColumns`",
                )
            )
        elif field.is_repeated:
            yield from ((f"{field.name}[{index}]", message) for index, message in enumerate(value))
        else:
            yield field.name, value


def _says_something(field: FieldDescriptor, value: Any) -> bool:
    """Spark's client writes out some fields that have their default value."""
    return field.message_type is not None or field.is_repeated or value not in _EMPTY_VALUES


def _refused(node: Node, field: FieldDescriptor) -> Refusal:
    path = f"{node.path}.{field.name}"
    reason = reason_against(node.kind, field.name)
    if reason is not None:
        return Refusal(path, f"`{field.name}` {reason.problem}", reason.hint)
    return Refusal(
        path, f"`{field.name}` of `{kind_of(node.message)}` is not known to hakiri", FORMAT_OF_SPARK.hint
    )


def _scalar_faults(node: Node, field: FieldDescriptor, value: Any) -> Iterator[Refusal]:
    values = value if field.is_repeated else [value]
    path = f"{node.path}.{field.name}"
    if field.enum_type is not None and any(each not in field.enum_type.values_by_number for each in values):
        yield Refusal(path, "its value has no meaning", FORMAT_OF_SPARK.hint)
    # A letter has four bytes at most.
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES) and any(
        4 * len(each) > LONGEST_TEXT_BYTES and len(_bytes_of(each)) > LONGEST_TEXT_BYTES for each in values
    ):
        yield Refusal(
            path, f"a text is longer than {LONGEST_TEXT_BYTES} bytes", "keep it in a reference table"
        )


def _bytes_of(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
