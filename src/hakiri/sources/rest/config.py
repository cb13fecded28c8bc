"""What the connector `rest` takes in `source.config`: an API, told in a few keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from hakiri.core.grammar import BadText
from hakiri.core.nearest import nearest
from hakiri.manifest.fields import DurationText, OrShort, RateText, SourceTable
from hakiri.sources.config import SecretTemplate, SourceConfig, Template, refuse_value
from hakiri.sources.json_rows import MixedTypes, parse_type
from hakiri.sources.json_rows.paths import names_in
from hakiri.sources.rest.moments import Format, as_bound

PLACEHOLDER = re.compile(r"\{(\w+)\}")
Plain: TypeAlias = str | int | float | bool
Order: TypeAlias = Literal["asc", "desc"]


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1)
    except ValueError:
        is_address = False
    if not is_address:
        refuse_value("is no address of the web", "write it as in `https://api.example.com/v1`")
    if parts.username or parts.password:
        refuse_value("holds a user or a password", 'write `auth = { type = "basic", … }` instead')
    if parts.query or parts.fragment:
        refuse_value("holds more than a path", "write what follows `?` in the `params` of each resource")
    return url.rstrip("/")


def _checked_param(value: Any) -> Plain | tuple[Plain, ...]:
    if isinstance(value, str | int | float):  # flags are whole numbers to Python
        return value
    if not isinstance(value, list | tuple) or not all(isinstance(item, str | int | float) for item in value):
        refuse_value("is no text, number or flag, and no list of those", "write what a URL can hold")
    return tuple(value)


def _checked_type(text: str) -> str:
    try:
        parse_type(text)
    except BadText as error:
        refuse_value(f"is no type of a column: {error}", error.hint)
    return text


Url = Annotated[str, AfterValidator(_checked_url)]
Param = Annotated[Any, AfterValidator(_checked_param)]
TypeText = Annotated[str, AfterValidator(_checked_type)]
Name = Annotated[str, Field(min_length=1)]
# The way to a value in a document: names joined by dots, a dot inside of a name with a backslash before it.
JsonPath = Annotated[str, Field(min_length=1)]


class _Kinds(SourceConfig):
    """Keys of which some belong to some values of `type` only."""

    @classmethod
    def takes(cls) -> Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """For each type, the keys that it needs and those that it also takes."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _has_the_keys_of_its_type(self) -> Any:
        kind = getattr(self, "type")  # noqa: B009 - the field is declared in the subclasses
        needed, also = self.takes()[kind]
        missing = [key for key in needed if getattr(self, key) is None]
        if missing:
            refuse_value(f"of type `{kind}` lacks `{missing[0]}`", f"write {_listed(needed)}")
        strange = sorted(self.model_fields_set - {"type", *needed, *also})
        if strange:
            known = (*needed, *also)
            refuse_value(
                f"of type `{kind}` does not take `{strange[0]}`",
                f"it takes {_listed(known)}" if known else "remove it",
            )
        return self


class Auth(_Kinds):
    """How a request says who asks."""

    type: Literal["bearer", "basic", "header", "query", "oauth2"] = Field(
        description="write bearer, basic, header, query or oauth2"
    )
    token: SecretTemplate | None = Field(None, description="of bearer: the token")
    user: Template | None = Field(None, description="of basic: the user")
    password: SecretTemplate | None = Field(None, description="of basic: the password")
    name: Name | None = Field(None, description="of header and query: the header's or the parameter's name")
    value: SecretTemplate | None = Field(None, description="of header and query: its value")
    token_url: Url | None = Field(None, description="of oauth2: where tokens are given")
    client_id: Template | None = Field(None, description="of oauth2: the client's name")
    client_secret: SecretTemplate | None = Field(None, description="of oauth2: the client's secret")
    scope: str | None = Field(None, description="of oauth2: what the token is for")
    extra: dict[str, str] = Field({}, description="of oauth2: further fields of the form")
    send: Literal["body", "header"] = Field("body", description="of oauth2: where the client's secret goes")

    @classmethod
    def takes(cls) -> Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        return {
            "bearer": (("token",), ()),
            "basic": (("user", "password"), ()),
            "header": (("name", "value"), ()),
            "query": (("name", "value"), ()),
            "oauth2": (("token_url", "client_id", "client_secret"), ("scope", "extra", "send")),
        }


class Pagination(_Kinds):
    """How one page leads to the next."""

    type: Literal["link", "page", "offset", "cursor", "next_url", "none"] = Field(
        description="write link, page, offset, cursor, next_url or none"
    )
    param: Name | None = Field(None, description="the parameter that says which page is wanted")
    start: int | None = Field(None, ge=0, description="the number of the first page or record")
    size: int | None = Field(None, ge=1, description="how many records a page has")
    size_param: Name | None = Field(None, description="the parameter that says how many are wanted")
    total_pages: JsonPath | None = Field(None, description="where a page tells how many pages there are")
    total: JsonPath | None = Field(None, description="where a page tells how many records there are")
    path: JsonPath | None = Field(None, description="where a page tells the next token or URL")
    field: JsonPath | None = Field(None, description="the field of the last record that is the next token")
    more: JsonPath | None = Field(None, description="where a page tells whether there are more")

    @classmethod
    def takes(cls) -> Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        sizes = ("size", "size_param")
        return {
            "link": ((), sizes),
            "page": ((), ("param", "start", *sizes, "total_pages")),
            "offset": ((), ("param", "start", *sizes, "total")),
            "cursor": (("param",), ("path", "field", "more", *sizes)),
            "next_url": (("path",), sizes),
            "none": ((), ()),
        }

    @model_validator(mode="after")
    def _knows_its_token(self) -> Pagination:
        if self.type == "cursor" and (self.path is None) == (self.field is None):
            refuse_value(
                "of type `cursor` needs either `path` or `field`",
                "write `path` if the page tells the next token, `field` if the last record does",
            )
        if self.size_param is not None and self.size is None:
            refuse_value("has `size_param` without `size`", "write `size` as well")
        return self


class Incremental(SourceConfig):
    """A field that grows when a record changes, and how the API is asked for what changed."""

    field: JsonPath = Field(description="write the field that grows, as in `updated_at`")
    param: Name | None = Field(None, description="the parameter for the lowest value that is wanted")
    until_param: Name | None = Field(None, description="the parameter for the value before which to stop")
    format: Format = Field("iso", description="write iso, date, unix, unix_ms or number")
    initial: Any = Field(None, description="where to begin when nothing was read yet")
    order: Order | None = Field(None, description="the order of the records by this field, if they have one")
    lookback: DurationText | None = Field(None, description="how much earlier to ask, as in `5m`")
    keyset: bool = Field(default=False, description="turn pages by asking again from the highest value")
    window: DurationText | None = Field(None, description="a good length for one piece of the history")

    @property
    def column(self) -> str | None:
        """The column that the field is; None for a field inside of another."""
        names = names_in(self.field)
        return names[0] if len(names) == 1 else None

    @model_validator(mode="after")
    def _fits_together(self) -> Incremental:
        if self.keyset and (self.order != "asc" or self.param is None):
            refuse_value("with `keyset` needs `param`, and `order` = `asc`", "write both, or remove `keyset`")
        if self.lookback is not None and (self.format == "number" or self.lookback.months):
            refuse_value("has a `lookback` without a fixed length", "write it as in `5m`, for moments only")
        if self.initial is not None and as_bound(self.initial, self.format) is None:
            refuse_value(
                f"has an `initial` that does not fit the format `{self.format}`",
                "write a whole number" if self.format == "number" else "write a date like `2010-01-01`",
            )
        return self


class Parent(SourceConfig):
    """The resource whose records lead to those of this one."""

    resource: str = Field(description="write the name of another resource")
    values: dict[Name, JsonPath] = Field(
        description='write the parent\'s field for each name in the path, as in values = { order_id = "id" }'
    )
    keep: dict[Name, JsonPath] | None = Field(
        None, description="fields of the parent that become columns; by default those in `values`"
    )

    @property
    def kept(self) -> Mapping[str, str]:
        return self.values if self.keep is None else self.keep


class Resource(SourceConfig):
    """One list of records, which becomes one table."""

    name: SourceTable = Field(description="write the table's name")
    path: str | None = Field(None, description="the path below `base_url`; by default the name")
    params: dict[Name, Param] = Field({}, description="what follows `?` in the URL")
    records: str = Field("", description="where in the document the records are, as in `data.items`")
    primary_key: tuple[Name, ...] = Field((), description='write a list of fields, as in ["id"]')
    columns: dict[Name, TypeText] = Field({}, description="types of columns that a sample need not tell")
    infer: bool = Field(default=True, description="whether a sample tells the columns that are not declared")
    mixed: MixedTypes = Field("widen", description="write widen, string or quarantine")
    without: JsonPath | None = Field(None, description="records that have this field are left out")
    incremental: Incremental | None = Field(None, description="how the API is asked for what changed")
    pagination: PaginationText | None = Field(None, description="where it differs from that of the others")
    parent: Parent | None = Field(None, description="the resource whose records lead to those of this one")
    partitions: dict[Name, tuple[Name, ...]] = Field(
        {}, description='one name in the path and its values, as in partitions = { repo = ["a/b"] }'
    )

    @property
    def below(self) -> str:
        """The path below the base URL."""
        return self.name if self.path is None else self.path

    @property
    def partition_key(self) -> str | None:
        return next(iter(self.partitions), None)

    @model_validator(mode="after")
    def _fits_together(self) -> Resource:
        if len(self.partitions) > 1 or not all(self.partitions.values()):
            refuse_value("has `partitions` with more or less than one name and its values", "write one name")
        known = {*self.partitions, *(self.parent.values if self.parent else ())}
        wanted = set(PLACEHOLDER.findall(self.below))
        if wanted - known and self.parent is None and not self.partitions:
            refuse_value(
                f"has `{{{min(wanted)}}}` in its path, and no parent that tells it",
                'write parent = { resource = "…", values = { … } }',
            )
        if wanted != known:
            odd = min(wanted ^ known)
            refuse_value(
                f"has `{odd}` in its path or in its values, and not in both",
                "use the same names in the path and in the values",
            )
        return self


def _from_type(text: Any) -> Pagination:
    needed, _ = Pagination.takes()[text]
    if needed:
        refuse_value(
            f"of type `{text}` lacks `{needed[0]}`",
            f'write it as in pagination = {{ type = "{text}", {needed[0]} = "…" }}',
        )
    return Pagination(type=text)


def _from_name(text: str) -> Resource:
    return Resource(name=text)


PaginationText = Annotated[
    Pagination,
    OrShort(_from_type, Literal["link", "page", "offset", "cursor", "next_url", "none"]),
]
ResourceText = Annotated[Resource, OrShort(_from_name, SourceTable)]


class RestConfig(SourceConfig):
    """An API with JSON answers."""

    base_url: Url = Field(description="write the API's address, as in `https://api.example.com/v1`")
    resources: tuple[ResourceText, ...] = Field(
        min_length=1, description='write a list of names or tables, as in resources = ["orders"]'
    )
    auth: Auth | None = Field(None, description="how a request says who asks")
    pagination: PaginationText = Field(
        Pagination(type="link"), description="how one page leads to the next; by default by Link headers"
    )
    headers: dict[Name, Template] = Field({}, description="headers of every request")
    rate_limit: RateText | None = Field(None, description="write how often to call, as in `60/min`")

    @field_validator("resources")
    @classmethod
    def _hang_together(cls, resources: tuple[Resource, ...]) -> tuple[Resource, ...]:
        by_name = {resource.name: resource for resource in resources}
        if len(by_name) < len(resources):
            names = [resource.name for resource in resources]
            twice = next(name for number, name in enumerate(names) if name in names[:number])
            refuse_value(f"has `{twice}` twice", "give each resource a name of its own")
        for resource in resources:
            seen = [resource.name]
            while (parent := by_name[seen[-1]].parent) is not None:
                if parent.resource not in by_name:
                    meant = nearest(parent.resource, by_name)
                    refuse_value(
                        f"has `{seen[-1]}` with the parent `{parent.resource}`, which is not there",
                        f"did you mean `{meant}`?" if meant else "declare the parent as a resource",
                    )
                if parent.resource in seen:
                    refuse_value(
                        f"has `{parent.resource}` as its own ancestor", "end the chain of parents somewhere"
                    )
                seen.append(parent.resource)
            if len(seen) > 1 and any(by_name[name].partitions for name in seen):
                refuse_value(
                    f"has `{resource.name}` with a parent, and partitions on the way",
                    "use one of both: a resource with partitions has no parent and no children",
                )
        return resources

    def resource(self, name: str) -> Resource | None:
        return next((resource for resource in self.resources if resource.name == name), None)

    def pagination_of(self, resource: Resource) -> Pagination:
        return resource.pagination or self.pagination


def config_from(data: Mapping[str, Any]) -> RestConfig:
    """The config that a manifest with this data would give, with its columns in their order.

    For connectors of one service.
    """
    return RestConfig.model_validate_json(json.dumps(data))


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


Resource.model_rebuild()
