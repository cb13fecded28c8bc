"""Asking an API: a request takes a turn of the budget, is tried again where that helps, and fails by type."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from hakiri.core.backoff import Backoff
from hakiri.core.secrets import mask
from hakiri.sources.contract import Context
from hakiri.sources.errors import AuthExpired, PermanentFailure, RateLimited, TransientFailure
from hakiri.sources.json_rows import BadJson, parse_json
from hakiri.sources.rest.addresses import inside
from hakiri.sources.rest.answers import is_used_up, seconds_to_wait
from hakiri.sources.rest.config import RestConfig
from hakiri.sources.rest.errors import AskRefused
from hakiri.sources.rest.signing import signer_for

PATIENT = Backoff(first_seconds=0.5, longest_seconds=30, budget_seconds=60)
# For those who wait for the answer: enough for one lost connection.
BRIEF = Backoff(first_seconds=0.2, longest_seconds=1, budget_seconds=1)
# A longer pause is for the runtime to plan, which can do something else meanwhile.
LONGEST_PAUSE_SECONDS = 60.0
TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
MOST_REDIRECTS = 5
MOST_CHARACTERS_TOLD = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 425})
_NOT_MODIFIED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 304, 401, 403, 404, 429
_TELLING = ("message", "error_description", "error", "errors", "detail", "title")
_Got = TypeVar("_Got")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API gave; `document` is None where it says that nothing changed."""

    document: Any
    headers: Mapping[str, str]
    next_link: str | None
    size_bytes: int
    is_unchanged: bool


class Client:
    """Speaks to one API. `asked` is an address below its host, see `addresses`; `about` names the table."""

    def __init__(self, config: RestConfig, context: Context, *, backoff: Backoff = PATIENT) -> None:
        self._base_url = config.base_url
        self._context = context
        self._backoff = backoff
        parts = urlsplit(config.base_url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._headers = {
            "Accept": "application/json",
            "User-Agent": "hakiri",
            **{name: value.fill(context.secrets) for name, value in config.headers.items()},
        }
        self._http = httpx2.Client(timeout=TIMEOUT, follow_redirects=False, verify=_trust(config))
        self._signer = signer_for(config.auth, context.secrets, context.clock, self._token_document)

    def close(self) -> None:
        self._http.close()

    def here(self, asked: str, url: str) -> str:
        """The address that a URL in the answer to `asked` means; raises PermanentFailure if it leads away."""
        return inside(self._base_url, asked, url, hidden=self._signer.hidden_param)

    def get(
        self, asked: str, *, about: str, keep_digits: bool = False, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The document at this address; see the errors of a connector for what it raises.

        What may pass is tried again, with pauses between that the API may name. A longer pause than a minute
        is not waited for: it is raised as RateLimited.
        """
        try:
            return self._again_and_again(lambda: self._answer(asked, about, keep_digits, headers or {}))
        except BadJson as error:
            raise PermanentFailure(
                f"{about} at `{asked}` is no JSON, also when asked for again: {error}",
                hint="check `base_url` and the path; this may be a page for people",
            ) from None

    def _again_and_again(self, work: Callable[[], _Got]) -> _Got:
        pauses = self._backoff.waits()
        while True:
            try:
                return work()
            except (TransientFailure, RateLimited) as failure:
                named = failure.seconds if isinstance(failure, RateLimited) else 0.0
                pause = next(pauses, None)
                if pause is None or named > LONGEST_PAUSE_SECONDS:
                    raise
                self._context.wait(max(pause, named))

    def _answer(self, asked: str, about: str, keep_digits: bool, headers: Mapping[str, str]) -> Answer:  # noqa: FBT001
        response = self._follow(asked, about, headers)
        if response.status_code == _UNAUTHORIZED and self._signer.renew():
            response = self._follow(asked, about, headers)
        self._refuse_failure(response, f"{about} at `{asked}`")
        is_unchanged = response.status_code == _NOT_MODIFIED
        return Answer(
            document=None if is_unchanged else parse_json(response.content, keep_digits=keep_digits),
            headers=response.headers,
            next_link=response.links.get("next", {}).get("url"),
            size_bytes=len(response.content),
            is_unchanged=is_unchanged,
        )

    def _follow(self, asked: str, about: str, headers: Mapping[str, str]) -> httpx2.Response:
        for _ in range(MOST_REDIRECTS + 1):
            request = self._http.build_request(
                "GET", self._origin + asked, headers={**self._headers, **headers}
            )
            self._signer.sign(request)
            response = self._send(request, f"{about} at `{asked}`")
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or location is None:
                return response
            asked = self.here(asked, location)
        raise PermanentFailure(
            f"{about} is always somewhere else, the last time at `{asked}`",
            hint="check `base_url`; write it with https if the API speaks nothing else",
        )

    def _send(self, request: httpx2.Request, about: str) -> httpx2.Response:
        # The errors of httpx2 may hold header values, and so secrets: none of them is passed on.
        try:
            with self._context.budget.turn():
                return self._http.send(request)
        except httpx2.TimeoutException:
            raise TransientFailure(f"{about}: there was no answer in time") from None
        except httpx2.LocalProtocolError:
            raise PermanentFailure(
                f"{about} cannot be asked for: a header holds a character that none can hold",
                hint="check the secrets for blanks and line ends",
            ) from None
        except httpx2.DecodingError:
            raise TransientFailure(f"{about}: the answer is not packed as it says") from None
        except httpx2.TransportError as error:
            if _has_cause(error, ssl.SSLCertVerificationError):
                raise PermanentFailure(
                    f"{about}: the certificate of the server is not to be trusted",
                    hint="check `base_url`, and the certificates of this machine",
                ) from None
            raise TransientFailure(f"{about}: {_lost(error)}") from None

    def _refuse_failure(self, response: httpx2.Response, about: str) -> None:
        status = response.status_code
        if response.is_success or status == _NOT_MODIFIED:
            return
        problem = f"{about} was answered with {status}{self._told(response)}"
        pause = seconds_to_wait(response.headers, self._context.clock.now())
        if status == _TOO_MANY or (status == _FORBIDDEN and is_used_up(response.headers)):
            raise RateLimited(problem, seconds=pause or 0.0, hint="call it less often, or wait")
        if status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise AuthExpired(problem, hint="check the secrets, and what they give the right to")
        if status in _PASSING or response.is_server_error:
            if "retry-after" in response.headers and pause is not None:
                raise RateLimited(problem, seconds=pause)
            raise TransientFailure(problem)
        hint = (
            "check the path of the resource" if status == _NOT_FOUND else "check the config of the resource"
        )
        raise AskRefused(problem, status=status, hint=hint)

    def _told(self, response: httpx2.Response) -> str:
        """What the API says about it, if it does so in few words."""
        try:
            document = parse_json(response.content)
        except BadJson:
            return ""
        said = ""
        if isinstance(document, dict):
            said = next((document[key] for key in _TELLING if document.get(key)), "")
        words = " ".join(str(said).split())[:MOST_CHARACTERS_TOLD]
        return f": {mask(words, (*self._context.secrets.values(), *self._signer.held()))}" if words else ""

    def _token_document(self, request: httpx2.Request) -> Any:
        about = f"the token at `{request.url}`"
        response = self._send(request, about)
        if response.is_redirect:
            raise PermanentFailure(
                f"{about} is somewhere else, where the client's secret must not go",
                hint="write the place that it leads to as `token_url`",
            )
        try:
            self._refuse_failure(response, about)
        except AskRefused as refused:
            raise AuthExpired(str(refused), hint="check `client_id`, `client_secret` and `scope`") from None
        try:
            return parse_json(response.content)
        except BadJson:
            return None


def _trust(config: RestConfig) -> ssl.SSLContext | bool:
    """What certificates are checked by; to load it takes longer than most answers do."""
    token_url = config.auth.token_url if config.auth is not None else None
    urls = (config.base_url, token_url or "")
    return _trusted() if any(url.startswith("https:") for url in urls) else False


@cache
def _trusted() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _has_cause(error: BaseException, kind: type[BaseException]) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kind):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _lost(error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.ConnectError):
        return "there is no connection to the server"
    if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
        return "the connection ended before the answer did"
    return "the connection was lost"
