"""Who asks: credentials, put into a request right before it is sent."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx2

from hakiri.core.clock import Clock
from hakiri.core.secrets import Secret
from hakiri.sources.config import Template
from hakiri.sources.errors import AuthExpired
from hakiri.sources.rest.config import Auth

# A token is renewed this much before it runs out, so that it does not do so on the way.
MARGIN_SECONDS = 60.0
MARGIN_SHARE = 0.1
Secrets = Mapping[str, Secret]
# Sends a request for a token, and gives the document in the answer, None if there is none.
Exchange = Callable[[httpx2.Request], Any]


class Signer(Protocol):
    """Puts credentials into requests."""

    @property
    def hidden_param(self) -> str | None:
        """The parameter that holds a secret, and so must not be kept with a URL."""

    def sign(self, request: httpx2.Request) -> None:
        """Add what the API wants to see."""

    def renew(self) -> bool:
        """Get other credentials, after these were refused; False if there are no others."""

    def held(self) -> tuple[Secret, ...]:
        """Secrets that were got on the way, to be masked like the others."""


def signer_for(auth: Auth | None, secrets: Secrets, clock: Clock, exchange: Exchange) -> Signer:
    if auth is None:
        return Fixed()
    match auth.type:
        case "bearer":
            return Fixed(header=("Authorization", f"Bearer {_filled(auth.token, secrets)}"))
        case "basic":
            pair = f"{_filled(auth.user, secrets)}:{_filled(auth.password, secrets)}"
            return Fixed(header=("Authorization", f"Basic {b64encode(pair.encode()).decode()}"))
        case "header":
            return Fixed(header=(auth.name or "", _filled(auth.value, secrets)))
        case "query":
            return Fixed(hidden_param=auth.name, value=_filled(auth.value, secrets))
        case "oauth2":
            return ClientCredentials(auth, secrets, clock, exchange)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fixed:
    """The same header or parameter every time, or none."""

    header: tuple[str, str] | None = None
    hidden_param: str | None = None
    value: str = ""

    def sign(self, request: httpx2.Request) -> None:
        if self.header is not None:
            request.headers[self.header[0]] = self.header[1]
        if self.hidden_param is not None:
            sign = "&" if request.url.query else "?"
            # Not by httpx2's own way to add one, which writes the whole query anew.
            request.url = httpx2.URL(f"{request.url}{sign}{urlencode({self.hidden_param: self.value})}")

    def renew(self) -> bool:
        return False

    def held(self) -> tuple[Secret, ...]:
        return ()


class ClientCredentials:
    """A token of OAuth 2 by client credentials (RFC 6749, 4.4), got when there is none or it ran out."""

    hidden_param: str | None = None

    def __init__(self, auth: Auth, secrets: Secrets, clock: Clock, exchange: Exchange) -> None:
        self._auth = auth
        self._secrets = secrets
        self._clock = clock
        self._exchange = exchange
        self._token: Secret | None = None
        self._expires_at: float | None = None

    def sign(self, request: httpx2.Request) -> None:
        is_over = self._expires_at is not None and self._clock.monotonic() >= self._expires_at
        if self._token is None or is_over:
            self._get_token()
        assert self._token is not None  # noqa: S101 - it was just got
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"

    def renew(self) -> bool:
        self._get_token()
        return True

    def held(self) -> tuple[Secret, ...]:
        return () if self._token is None else (self._token,)

    def _get_token(self) -> None:
        asked_at = self._clock.monotonic()
        document = self._exchange(self._request())
        token = document.get("access_token") if isinstance(document, dict) else None
        if not isinstance(token, str) or not token:
            raise AuthExpired(
                f"`{self._auth.token_url}` answers without an `access_token`",
                hint="check `token_url` in the source's config",
            )
        self._token = Secret(token)
        lasts = document.get("expires_in")
        is_number = isinstance(lasts, int | float) and not isinstance(lasts, bool)
        self._expires_at = asked_at + _usable(float(lasts)) if is_number else None

    def _request(self) -> httpx2.Request:
        auth = self._auth
        user, password = _filled(auth.client_id, self._secrets), _filled(auth.client_secret, self._secrets)
        form = {"grant_type": "client_credentials", **auth.extra}
        if auth.scope is not None:
            form["scope"] = auth.scope
        headers = {"Accept": "application/json"}
        if auth.send == "header":
            headers["Authorization"] = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
        else:
            form |= {"client_id": user, "client_secret": password}
        return httpx2.Request("POST", auth.token_url or "", data=form, headers=headers)


def _usable(seconds: float) -> float:
    return seconds - min(MARGIN_SECONDS, seconds * MARGIN_SHARE)


def _filled(template: Template | None, secrets: Secrets) -> str:
    return template.fill(secrets) if template is not None else ""
