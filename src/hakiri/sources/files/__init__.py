"""The connector `files`: CSV, JSON Lines, Parquet and ORC by glob, read by Spark itself."""

from hakiri.sources.files.connector import FilesConnector

__all__ = ["FilesConnector"]
