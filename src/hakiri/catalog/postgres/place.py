"""From a `postgresql://` URL to a place."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from hakiri.catalog.errors import BadCatalogUrl
from hakiri.catalog.postgres.schema import PostgresSchema, schema_name
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sql.place import SqlPlace

_SCHEMA = "schema"


def place(url: str, project: str, base: Path) -> SqlPlace:
    """The project's schema in the database of the URL, or the one it names with `?schema=`.

    Everything else of the URL is libpq's, its parameters too.
    """
    address, _, parameters = url.partition("?")
    query = parse_qsl(parameters, keep_blank_values=True)
    schema = next((value for key, value in query if key == _SCHEMA), "") or schema_name(project)
    rest = urlencode([(key, value) for key, value in query if key != _SCHEMA])
    conninfo = f"{address}?{rest}" if rest else address
    try:
        settings = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        # libpq repeats the URL, with its password, at the end of what it says.
        problem = str(error).partition('"postgres')[0].strip(" :\n")
        raise BadCatalogUrl(f"`catalog.url` is not a Postgres URL: {problem}") from None
    host = settings.get("host") or settings.get("hostaddr") or "localhost"
    port = f":{settings['port']}" if "port" in settings else ""
    location = f"postgresql://{host}{port}/{settings.get('dbname', '')}#{schema}"
    return SqlPlace("postgresql", PostgresSchema(conninfo, schema, location), migrations_of("postgres"))
