"""Postgres by logical decoding: the table as it is, and from there on every change to it."""

from __future__ import annotations

from hakiri.sources.cdc.connector import PostgresCdcConnector

__all__ = ["PostgresCdcConnector"]
