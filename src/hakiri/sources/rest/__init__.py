"""The connector `rest`, and what connectors for one service are made of."""

from hakiri.sources.rest.config import RestConfig, config_from
from hakiri.sources.rest.connector import RestConnector

__all__ = ["RestConfig", "RestConnector", "config_from"]
