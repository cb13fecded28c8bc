"""What Spark tasks ask the process that started them for: turns of the rate budget, and secrets.

Tasks run in other processes and maybe on other machines, so a budget cannot be a value that they share. On
this machine they come through a Unix socket in a folder that only its owner can enter, and get both. From
elsewhere they come by TCP with a key that is good for turns alone: secrets do not travel, they are taken
from the environment of the executor.
"""

from hakiri.sources.desk.address import DeskAddress
from hakiri.sources.desk.client import DeskBudget, DeskReport, desk_secrets
from hakiri.sources.desk.server import Desk

__all__ = ["Desk", "DeskAddress", "DeskBudget", "DeskReport", "desk_secrets"]
