"""What a connector takes in its config, for people: every key, and a pipeline to begin with."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from hakiri.sources.config import SecretTemplate, Template

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from hakiri.sources.contract import Connector

_WORDS: Mapping[type, str] = types.MappingProxyType(
    {str: "text", Template: "text", int: "whole number", float: "number", bool: "true or false"}
)
_PLACEHOLDERS: Mapping[type, Any] = types.MappingProxyType({int: 1, float: 1.0, bool: True})
_ONLY_SECRET = type(get_args(SecretTemplate)[1])
_DEEPEST = 6
# A description that says how a text is written shows it so: write it as `https://api.example.com`.
_QUOTED = re.compile(r"`([^`]+)`")

Shape = Literal["literal", "choice", "list", "mapping", "model", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOfConfig:
    """One key: its dotted path, its type in words, and whether `${NAME}` may or must stand in it.

    `default` is JSON; None where the key has none. `when` says for which kind of a choice the key is there.
    """

    path: str
    type: str
    is_required: bool
    default: str | None
    secrets: Literal["no", "may", "must"]
    when: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A connector: what it is, what it takes, the JSON Schema of that, and a block for the manifest."""

    name: str
    summary: str
    keys: tuple[KeyOfConfig, ...]
    config_schema: Mapping[str, Any]
    example: str


def describe_connector(name: str, kind: type[Connector]) -> Description:
    """Everything that the connector's class says of itself; nothing is read."""
    return Description(
        name=name,
        summary=kind.summary,
        keys=tuple(_keys(kind.Config)),
        config_schema=kind.Config.model_json_schema(),
        example=example_block(name, example_config(kind.Config)),
    )


def example_config(model: type[BaseModel]) -> dict[str, Any]:
    """The required keys, each with the example its field gives, or with something of its type."""
    return {
        known.alias or name: _example(known)
        for name, known in model.model_fields.items()
        if known.is_required()
    }


def example_block(
    connector: str, config: Mapping[str, Any], *, pipeline: str = "", tables: tuple[str, ...] = ()
) -> str:
    """A pipeline in TOML; the names of tables are for the reader to fill in where none are given."""
    secrets = list(secrets_in(config))
    lines = [
        "[[pipeline]]",
        f"id = {_toml(pipeline or f'{connector}-example')}",
        f"source = {_toml({'connector': connector, 'config': dict(config)})}",
        f"tables = {_toml(list(tables) or ['a_table'])}",
    ]
    return "\n".join([*lines, *([f"secrets = {_toml(secrets)}"] if secrets else [])])


def secrets_in(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the secrets that the texts of a config ask for, each once."""
    return tuple(dict.fromkeys(name for text in _texts(config) for name in Template(text).names))


def _keys(model: type[BaseModel], prefix: str = "", when: str = "", depth: int = 0) -> Iterator[KeyOfConfig]:
    for name, known in model.model_fields.items():
        path = f"{prefix}{known.alias or name}"
        annotation = _whole(known)
        yield KeyOfConfig(
            path=path,
            type=_words(annotation),
            is_required=known.is_required(),
            default=_default(known),
            secrets=_secrets(annotation),
            when=when,
            description=known.description or "",
        )
        if depth < _DEEPEST:
            models = list(_models(annotation))
            for inner, step in models:
                kind = _kind(inner) if len(models) > 1 else ""
                yield from _keys(inner, f"{path}{step}.", kind, depth + 1)


def _whole(known: FieldInfo) -> Any:
    """The annotation with what pydantic has taken off it, since a template's rules are among that."""
    return Annotated[known.annotation, *known.metadata] if known.metadata else known.annotation


def _shape(annotation: Any) -> tuple[Shape, tuple[Any, ...]]:
    """What an annotation is, and what it is made of; rules beside a type and None in a choice left out."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        shape = _shape(args[0])
    elif origin is Literal:
        shape = "literal", args
    elif origin in (Union, types.UnionType):
        choices = tuple(arg for arg in args if arg is not types.NoneType)
        shape = _shape(choices[0]) if len(choices) == 1 else ("choice", choices)
    elif origin in (list, tuple, set, frozenset):
        shape = "list", args[:1]
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        shape = "mapping", args[1:]
    else:
        shape = "model" if _is_model(annotation) else "plain", (annotation,)
    return shape


def _words(annotation: Any) -> str:
    match _shape(annotation):
        case "literal", values:
            words = ", ".join(f"`{value}`" for value in values)
        case "choice", choices:
            words = " or ".join(dict.fromkeys(_words(choice) for choice in choices))
        case "list", (item,):
            words = f"list of {_words(item)}"
        case "mapping", (item,):
            words = f"table of {_words(item)}"
        case "model", _:
            words = "table"
        case _, (kind,):
            words = _WORDS.get(kind) or (kind.__name__.lower() if isinstance(kind, type) else "anything")
    return words


def _secrets(annotation: Any) -> Literal["no", "may", "must"]:
    """Only what stands in the key itself: a table inside it answers for its own keys."""
    if annotation is Template:
        return "may"
    args = get_args(annotation)
    if get_origin(annotation) is Annotated and any(isinstance(arg, _ONLY_SECRET) for arg in args[1:]):
        return "must"
    found = {_secrets(arg) for arg in args if not isinstance(arg, str)}
    return "must" if "must" in found else "may" if "may" in found else "no"


def _models(annotation: Any, step: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """The tables inside a key, each with what stands between: `[]` for a list, `.<name>` for a table."""
    match _shape(annotation):
        case "model", (model,):
            yield model, step
        case "list", (item,):
            yield from _models(item, f"{step}[]")
        case "mapping", (item,):
            yield from _models(item, f"{step}.<name>")
        case "choice", choices:
            for choice in choices:
                yield from _models(choice, step)


def _kind(model: type[BaseModel]) -> str:
    """What tells this table from the others that may stand in its place."""
    for name, known in model.model_fields.items():
        if get_origin(known.annotation) is Literal and len(get_args(known.annotation)) == 1:
            return f"{known.alias or name} = {get_args(known.annotation)[0]}"
    return ""


def _is_model(annotation: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _default(known: FieldInfo) -> str | None:
    if known.is_required():
        return None
    value = known.get_default(call_default_factory=True, validated_data={})
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if _is_model(type(value)):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def _example(known: FieldInfo) -> Any:
    if known.examples:
        return _plain(known.examples[0])
    quoted = _QUOTED.search(known.description or "")
    is_text = _shape(known.annotation) in (("plain", (str,)), ("plain", (Template,)))
    return quoted[1] if quoted and is_text else _something(_whole(known))


def _something(annotation: Any) -> Any:
    if _secrets(annotation) == "must":
        return "${TOKEN}"
    match _shape(annotation):
        case "literal", (value, *_):
            made = value
        case "choice", (choice, *_):
            made = _something(choice)
        case "list", (item,):
            made = [_something(item)]
        case "mapping", (item,):
            made = {"name": _something(item)}
        case "model", (model,):
            made = example_config(model)
        case _, (kind,):
            made = _PLACEHOLDERS.get(kind, "…")
    return made


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _toml(value: Any) -> str:
    """A value on one line of TOML. JSON's texts, numbers and lists are TOML's as well."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_toml_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _toml_key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)
