"""Declarative data pipelines and context for people and agents, on Spark."""

from hakiri.transforms.authoring import pipeline

__all__ = ["__version__", "pipeline"]

__version__ = "0.1.0"
