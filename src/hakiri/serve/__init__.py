"""Keeping it so: pipelines run as their schedules come, for as long as the process lives."""

from __future__ import annotations
