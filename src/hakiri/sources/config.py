"""What a connector takes in `source.config`: typed, strict, and with secrets only by name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.core.secrets import Secret
from hakiri.core.type_words import EXPECTED_TYPE
from hakiri.manifest.fields import Strict
from hakiri.sources.errors import BadSourceConfig

_SECRET = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
# What databases take after the `?` of a URL.
_PASSWORD_OPTIONS = ("password", "sslpassword")
_ExpectedType = TypeVar("_ExpectedType", bound="SourceConfig")


class SourceConfig(Strict):
    """The keys of one connector. Subclass it: an unknown key is refused with the nearest known one."""


@dataclass(frozen=True, slots=True)
class Template:
    """A text in which `${NAME}` stands for the value of a secret. It never shows the value."""

    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """The secrets it needs, in order, each once."""
        return tuple(dict.fromkeys(_SECRET.findall(self.text)))

    def fill(self, secrets: Mapping[str, Secret]) -> str:
        """The text with the values in it. Keep it out of everything that is shown or stored."""
        return _SECRET.sub(lambda match: secrets[match[1]].reveal(), self.text)

    def fill_url(self, secrets: Mapping[str, Secret]) -> str:
        """The text with the values in it, each quoted for a place inside a URL."""
        return _SECRET.sub(lambda match: quote(secrets[match[1]].reveal(), safe=""), self.text)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda template: template.text),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class _OnlyByName:
    """Refuses a value that is written out where only `${NAME}` may stand."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_named_only, handler(source))


@dataclass(frozen=True, slots=True)
class _UrlWithoutPassword:
    """Refuses a URL with a password that is written out."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_without_password, handler(source))


def _named_only(template: Template) -> Template:
    if not template.names:
        refuse_value(
            "holds a secret that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        )
    return template


def _without_password(template: Template) -> Template:
    try:
        parts = urlsplit(template.text)
        passwords = [parts.password or "", *(v for k, v in parse_qsl(parts.query) if k in _PASSWORD_OPTIONS)]
    except ValueError:
        refuse_value("is no URL", "write it as in `postgresql://user:${PASSWORD}@host/database`")
    if any(password and not _SECRET.search(password) for password in passwords):
        refuse_value(
            "holds a password that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        )
    return template


# A text that is nothing but secret, as a token or a password: only `${NAME}` will do.
SecretTemplate = Annotated[Template, _OnlyByName()]
# A URL whose password, if it has one, is `${NAME}`.
UrlTemplate = Annotated[Template, _UrlWithoutPassword()]


def refuse_value(problem: str, hint: str) -> NoReturn:
    """For validators of a connector's config: `problem` goes on after the key's name."""
    raise PydanticCustomError("hakiri_config", "{problem}", {"problem": problem, "hint": hint})


def read_config(
    model: type[_ExpectedType],
    data: Mapping[str, Any],
    *,
    connector: str,
    place: Place,
    secrets: tuple[str, ...],
) -> _ExpectedType:
    """The config as its type; raises BadSourceConfig for the first thing that is wrong with it.

    `secrets` are the names that the pipeline declares: a template may use no others.
    """
    try:
        config = model.model_validate_json(json.dumps(dict(data)))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        # A misspelt key is also a missing one; it is the misspelling that helps.
        first = next((details for details in found if details["type"] == "extra_forbidden"), found[0])
        problem, hint = _told(first, model)
        raise BadSourceConfig(connector, problem, place, hint=hint) from None
    for template in templates_in(config):
        for name in template.names:
            if name not in secrets:
                raise BadSourceConfig(
                    connector,
                    f"`${{{name}}}` is not among the pipeline's secrets",
                    place,
                    hint=f'write `secrets = ["{name}"]` in the pipeline, and export {name}',
                )
    return config


def templates_in(value: object) -> Iterator[Template]:
    """Every template anywhere in a config."""
    if isinstance(value, Template):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from templates_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from templates_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from templates_in(item)


def _told(details: ErrorDetails, model: type[SourceConfig]) -> tuple[str, str]:
    key = _dotted(details["loc"])
    kind = details["type"]
    if kind == "hakiri_config":
        return f"`{key}` {details['ctx']['problem']}", details["ctx"]["hint"]
    if kind == "hakiri":
        found = details["ctx"]["found"][0]
        return f"`{key}`: {found.message}", found.hint
    if kind == "missing":
        return f"`{key}` is missing", _about(model, details["loc"]) or f"write `{key}` in the source's config"
    if kind == "extra_forbidden":
        known = _keys_at(model, details["loc"][:-1])
        meant = nearest(str(details["loc"][-1]), known)
        hint = (
            f"did you mean `{meant}`?" if meant else f"it takes {', '.join(known)}" if known else "remove it"
        )
        return f"unknown key `{key}`", hint
    if kind in EXPECTED_TYPE:
        return f"`{key}` is not {EXPECTED_TYPE[kind]}", _about(model, details["loc"]) or "correct the value"
    message = details["msg"][:1].lower() + details["msg"][1:]
    return f"`{key}`: {message}", _about(model, details["loc"]) or "correct the value"


def _dotted(location: tuple[int | str, ...]) -> str:
    # Pydantic puts the tag of a chosen branch between the keys; those have no place in the file.
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part not in _BRANCHES
    ]
    return "".join(parts).removeprefix(".")


_BRANCHES = frozenset({"<short>", "<long>", "[key]"})


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel] | None:
    here: type[BaseModel] | None = model
    for part in path:
        if here is None:
            return None
        if isinstance(part, int) or part in _BRANCHES:
            continue
        known = here.model_fields.get(part)
        here = _inner_model(known.annotation) if known is not None else here
    return here


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        if (found := _inner_model(part)) is not None:
            return found
    return None


def _keys_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    here = _model_at(model, path)
    return [info.alias or name for name, info in here.model_fields.items()] if here is not None else []


def _about(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """What the field is for, in its own words."""
    here = _model_at(model, path[:-1])
    known = here.model_fields.get(str(path[-1])) if here is not None and path else None
    return known.description or "" if known is not None else ""
