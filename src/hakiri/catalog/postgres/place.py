"""From a `postgresql://` URL to a place."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from hakiri.catalog.errors import BadCatalogUrl
from hakiri.catalog.postgres.schema import PostgresSchema, schema_name
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sql.place import SqlPlace

_SCHEMA = "schema"
_PORTS = re.compile(r"\d*(,\d*)*")
_NAME = re.compile(r"[a-z_]+")


def place(url: str, project: str, base: Path) -> SqlPlace:
    """The project's schema in the database of the URL, or the one it names with `?schema=`.

    Everything else of the URL is libpq's, its parameters too.
    """
    address, _, parameters = url.partition("?")
    # libpq takes a plus as it is, unlike forms on the web.
    query = parse_qsl(parameters.replace("+", "%2B"), keep_blank_values=True)
    schema = next((value for key, value in query if key == _SCHEMA), "") or schema_name(project)
    rest = urlencode([(key, value) for key, value in query if key != _SCHEMA], quote_via=quote)
    conninfo = f"{address}?{rest}" if rest else address
    try:
        settings = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        # libpq repeats what it could not read, and that may be a password; a plain name is none.
        problem, _, repeated = str(error).strip().removesuffix('"').partition('"')
        problem = f'{problem}"{repeated}"' if _NAME.fullmatch(repeated) else problem.strip(" :")
        raise BadCatalogUrl(f"`catalog.url` is not a Postgres URL: {problem}") from None
    _refuse_stray_passwords(address, settings.get("port", ""))
    host = settings.get("host") or settings.get("hostaddr") or "localhost"
    port = f":{settings['port']}" if "port" in settings else ""
    location = f"postgresql://{host}{port}/{settings.get('dbname', '')}#{schema}"
    return SqlPlace("postgresql", PostgresSchema(conninfo, schema, location), migrations_of("postgres"))


def _refuse_stray_passwords(address: str, port: object) -> None:
    """Refuse a URL that libpq takes apart inside the password, whose rest would be shown as a host."""
    authority, _, path = address.partition("://")[2].partition("/")
    if authority.count("@") > 1 or "@" in path or not _PORTS.fullmatch(str(port)):
        raise BadCatalogUrl(
            "`catalog.url` has a port that is no number, or a password with a character that must be "
            "percent-encoded"
        )
