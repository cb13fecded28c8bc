"""What is asked for, as a text that starts at the API's host: `/v1/orders?status=any`.

Such a text holds no secret, so it may be kept in cursors and shown in errors; and it cannot lead to another
host, which would be given the credentials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote_plus, urlencode, urljoin, urlsplit

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.rest.config import PLACEHOLDER

_PORTS = {"http": 80, "https": 443}


def address(base_url: str, below: str, values: Mapping[str, str], params: Mapping[str, Any]) -> str:
    """The address of a path below the base, with the names in it filled, and with these parameters."""
    filled = PLACEHOLDER.sub(lambda match: values[match[1]], below)
    path, _, query = filled.partition("?")
    parts = [urlsplit(base_url).path.rstrip("/"), path.strip("/")]
    whole = "/".join(part for part in parts if part)
    pieces = [query, urlencode(list(_pairs(params)))]
    asked = "&".join(piece for piece in pieces if piece)
    return f"/{whole.lstrip('/')}{'?' if asked else ''}{asked}"


def quoted(value: object, *, keep: str = "") -> str:
    """A value for a place in a path."""
    return quote(_text(value), safe=keep)


def inside(base_url: str, asked: str, url: str, *, hidden: str | None) -> str:
    """The address that a URL in an answer means, without the parameter `hidden`, which holds a secret.

    Raises PermanentFailure for a URL of another host. One of this host in the other scheme is asked for in
    the scheme of the base: servers behind a proxy often name the wrong one.
    """
    base = urlsplit(base_url)
    try:
        meant = urlsplit(urljoin(f"{base.scheme}://{base.netloc}{asked}", url))
        is_here = meant.scheme in _PORTS and meant.hostname == base.hostname and _fits(meant, base)
    except ValueError:
        raise PermanentFailure(
            f"`{asked}` leads to something that is no URL", hint="check `pagination` in the source's config"
        ) from None
    if not is_here:
        raise PermanentFailure(
            f"`{asked}` leads to another place, `{meant.scheme}://{meant.hostname or ''}`, "
            "which must not get the credentials",
            hint="check `base_url` in the source's config; it must be where the API leads to",
        )
    query = "&".join(
        piece for piece in meant.query.split("&") if unquote_plus(piece.partition("=")[0]) != hidden
    )
    return f"{meant.path or '/'}{'?' if query else ''}{query}"


def _fits(meant: Any, base: Any) -> bool:
    """Whether the port is that of the base, or the URL names none."""
    wanted = base.port or _PORTS[base.scheme]
    return meant.port in {None, wanted}


def _pairs(params: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in params.items():
        for item in value if isinstance(value, tuple | list) else (value,):
            yield name, _text(item)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
