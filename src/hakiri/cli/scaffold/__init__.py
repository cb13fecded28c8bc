"""The project that `hakiri init` makes, as values: which file holds what."""

from hakiri.cli.scaffold.project import NEXT_COMMANDS, project_files

__all__ = ["NEXT_COMMANDS", "project_files"]
