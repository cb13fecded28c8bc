"""What all manifests of the store have in common: JSON with a format, which is read whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hakiri.store.errors import UnreadableManifest


@contextmanager
def said_in(text: str, *formats: int) -> Iterator[dict[str, Any]]:
    """What the text of a manifest in one of these formats says, for the block that makes a value of it.

    Raises UnreadableManifest for a text that is none, also for what the block misses or cannot use.
    """
    try:
        said = json.loads(text)
        if said["format"] not in formats:
            raise UnreadableManifest(f"its format is `{said['format']}`, and {max(formats)} is known")
        yield said
    except KeyError as error:
        raise UnreadableManifest(f"it has no {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableManifest(f"{type(error).__name__}: {error}") from error
