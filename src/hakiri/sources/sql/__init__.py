"""The connector `sql`: tables and views of Postgres, SQLite and DuckDB as Arrow."""

from hakiri.sources.sql.connector import SqlConnector

__all__ = ["SqlConnector"]
