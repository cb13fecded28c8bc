"""The connector `singer`: whatever has a tap."""

from hakiri.sources.singer.config import SingerConfig
from hakiri.sources.singer.connector import SingerConnector

__all__ = ["SingerConfig", "SingerConnector"]
