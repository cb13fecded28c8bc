"""The seed of tests that leave things to chance."""

from __future__ import annotations

import os
from random import SystemRandom

VARIABLE = "HAKIRI_TEST_SEED"


def chosen_seed() -> int:
    """The one that the environment asks for, to play a failure again, or any."""
    return int(os.environ.get(VARIABLE) or SystemRandom().randrange(2**32))
