"""What the connector `sql` takes: which database, and how to read its columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from hakiri.sources.config import SourceConfig, Template, UrlTemplate, refuse_value

POSTGRES = ("postgresql", "postgres")
FILES = ("sqlite", "duckdb")
_FORMS = (
    "`postgresql://user:${PASSWORD}@host/database`, `sqlite:///data/shop.db` or `duckdb:///data/shop.duckdb`"
)
_NO_ARROW_DRIVER = ("mysql", "mariadb")
_FEWEST_PARTS = 2


def _checked_url(url: Template) -> Template:
    parts = urlsplit(url.text)
    scheme = parts.scheme.partition("+")[0]
    if scheme in _NO_ARROW_DRIVER:
        refuse_value(
            f"is of `{parts.scheme}`, for which no Arrow driver can be installed from PyPI",
            "read it by a tap with the connector `singer`, or a dump of it with the connector `files`",
        )
    if parts.scheme not in (*POSTGRES, *FILES):
        refuse_value("names no database that can be read", f"write {_FORMS}")
    is_path = not (parts.netloc or parts.query or parts.fragment) and len(parts.path) > 1
    if parts.scheme in FILES and not is_path:
        refuse_value(
            "is not the path of a file",
            f"write `{parts.scheme}:///data/shop.db` for a file of the project, "
            f"`{parts.scheme}:////srv/shop.db` for any other",
        )
    return url


def _checked_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if len([part for part in name.split(".") if part]) < _FEWEST_PARTS:
            refuse_value(f"names no column with `{name}`", 'write table and column, as in ["orders.paid_at"]')
    return names


class SqlConfig(SourceConfig):
    """One database."""

    url: Annotated[UrlTemplate, AfterValidator(_checked_url)] = Field(description=f"write {_FORMS}")
    db_schema: str | None = Field(
        None,
        alias="schema",
        min_length=1,
        description="the schema whose tables are read: `public` in Postgres and `main` in DuckDB by default",
    )
    as_text: Annotated[tuple[str, ...], AfterValidator(_checked_columns)] = Field(
        (), description='columns to read as the text that the database shows, as in ["orders.paid_at"]'
    )

    @field_validator("db_schema")
    @classmethod
    def _refuse_schema_of_sqlite(cls, schema: str | None, info: ValidationInfo) -> str | None:
        url: Template | None = info.data.get("url")
        if schema is not None and url is not None and url.text.startswith("sqlite:"):
            refuse_value("is given, which SQLite does not know", "remove `schema`")
        return schema

    @property
    def scheme(self) -> str:
        return urlsplit(self.url.text).scheme

    def file(self, root: Path) -> Path:
        """The file that the URL names; a relative one starts at the project's folder."""
        return root / unquote(urlsplit(self.url.text).path.removeprefix("/"))

    @property
    def shown_file(self) -> str:
        return unquote(urlsplit(self.url.text).path.removeprefix("/"))

    def columns_as_text(self, names: tuple[str, ...]) -> frozenset[str]:
        """The columns to read as text of a table that goes by these names."""
        pairs = (entry.rpartition(".") for entry in self.as_text)
        return frozenset(column for table, _, column in pairs if table in names)
