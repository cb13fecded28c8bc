"""Values that must not be seen: taken from the environment by name, and masked wherever text leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from hakiri.core.errors import ExitCode, HakiriError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MASK = "***"
# A shorter piece of base64 would also be found in texts that have nothing to do with the secret.
SHORTEST_BASE64 = 6


class MissingSecret(HakiriError):
    """Secrets that are asked for by name and are not in the environment."""

    code = "secrets.missing"
    exit_code = ExitCode.USAGE

    def __init__(self, names: Iterable[str], *, wanted_by: str) -> None:
        self.names = tuple(names)
        self.wanted_by = wanted_by
        listed = ", ".join(f"`{name}`" for name in self.names)
        subject = f"secret {listed} is" if len(self.names) == 1 else f"secrets {listed} are"
        super().__init__(
            f"{subject} not set in the environment, wanted by {wanted_by}",
            hint=f"export {' '.join(f'{name}=...' for name in self.names)}",
        )


class SecretNotPortable(HakiriError):
    """A secret was about to be written into a pickle, and so into a Spark plan, a file or another process."""

    code = "secrets.not_portable"

    def __init__(self) -> None:
        super().__init__(
            "a secret cannot be pickled, because it would be readable in plans, files and logs",
            hint="pass the secret's name, and take its value from the environment where it is used",
        )


class Secret:
    """A text that shows itself as `***` and gives its value only to `reveal()`.

    Two secrets are equal only if they are the same object, so comparing tells nothing about the value.
    """

    __slots__ = ("__value",)
    __value: str

    def __init__(self, value: str) -> None:
        object.__setattr__(self, "_Secret__value", value)

    def reveal(self) -> str:
        return self.__value

    def __repr__(self) -> str:
        return MASK

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __getstate__(self) -> NoReturn:
        raise SecretNotPortable

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SecretNotPortable


def take_secrets(names: Iterable[str], env: Mapping[str, str], *, wanted_by: str) -> Mapping[str, Secret]:
    """The named secrets and no others; raises MissingSecret with all that are unset or empty.

    `wanted_by` says who asks, in words for the message: "pipeline `shopify-orders`".
    """
    wanted = tuple(dict.fromkeys(names))
    missing = [name for name in wanted if not env.get(name)]
    if missing:
        raise MissingSecret(missing, wanted_by=wanted_by)
    return {name: Secret(env[name]) for name in wanted}


def mask(text: str, secrets: Iterable[Secret]) -> str:
    """The text with every occurrence of a secret replaced by `***`; see `masker`."""
    return masker(secrets)(text)


def masker(secrets: Iterable[Secret]) -> Callable[[str], str]:
    """A function that masks these secrets in any text, also where they overlap.

    A secret is found as it is, escaped as in JSON, quoted as in URLs, and in base64 at any offset, so
    that it is also found inside the `user:password` of a basic authorization header.
    """
    forms = sorted({form for secret in secrets for form in _forms(secret.reveal())})

    def masked(text: str) -> str:
        return mask_spans(text, (span for form in forms for span in _spans(text, form)))

    return masked


def mask_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with each span, start and end, replaced by `***`; spans that overlap become one."""
    pieces, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += [text[position:start], MASK]
        position = max(end, position)
    return "".join([*pieces, text[position:]])


def _spans(text: str, form: str) -> Iterable[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


def _forms(value: str) -> set[str]:
    import json
    from urllib.parse import quote, quote_plus

    # The environment hands bytes that are no UTF-8 over as lone surrogates.
    raw = value.encode(errors="surrogateescape")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    lower_case = {_with_lower_case_escapes(form) for form in quoted}
    escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return ({value} | quoted | lower_case | escaped | _base64_forms(raw)) - {""}


def _with_lower_case_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _base64_forms(value: bytes) -> set[str]:
    from base64 import b64encode

    forms = {b64encode(value).decode(), b64encode(value).decode().rstrip("=")}
    for offset in range(3):
        # Only the characters whose six bits all come from the value; their neighbours also hold bits of
        # what stands before and after it.
        first, end = -(-offset * 8 // 6), (offset + len(value)) * 8 // 6
        forms.add(b64encode(b"\0" * offset + value).decode()[first:end])
    url_safe = {form.replace("+", "-").replace("/", "_") for form in forms}
    return {form for form in forms | url_safe if len(form) >= SHORTEST_BASE64}
