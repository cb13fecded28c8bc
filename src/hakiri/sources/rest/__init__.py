"""The connector `rest`, and what connectors for one service are made of."""

from hakiri.sources.rest.config import Auth, Incremental, Pagination, Parent, Resource, RestConfig
from hakiri.sources.rest.connector import RestConnector

__all__ = ["Auth", "Incremental", "Pagination", "Parent", "Resource", "RestConfig", "RestConnector"]
