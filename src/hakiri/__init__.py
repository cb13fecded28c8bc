"""Declarative data pipelines and context for people and agents, on Spark."""

__version__ = "0.1.0"
