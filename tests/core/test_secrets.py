from __future__ import annotations

import base64
import copy
import json
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.secrets import MissingSecret, Secret, SecretNotPortable, mask, masker, take_secrets

# Without `*`, because the mask itself is made of it.
VALUES = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="*"), min_size=1, max_size=20)


def test_a_secret_shows_itself_only_when_it_is_revealed() -> None:
    secret = Secret("hunter2")

    assert f"{secret} {secret!r} {[secret]} %s" % secret == "*** *** [***] ***"
    assert secret.reveal() == "hunter2"


def test_comparing_secrets_tells_nothing_about_their_values() -> None:
    secret = Secret("hunter2")

    assert secret != Secret("hunter2")
    assert secret != "hunter2"
    assert secret == copy.copy(secret) == copy.deepcopy(secret)


def test_a_secret_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Secret("hunter2").value = "other"  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_never_pickled(protocol: int) -> None:
    with pytest.raises(SecretNotPortable) as caught:
        pickle.dumps({"token": Secret("hunter2")}, protocol=protocol)

    assert str(caught.value) == (
        "a secret cannot be pickled, because it would be readable in plans, files and logs"
    )
    assert caught.value.hint == (
        "pass the secret's name, and take its value from the environment where it is used"
    )


def test_a_secret_is_not_json() -> None:
    with pytest.raises(TypeError):
        json.dumps(Secret("hunter2"))


@pytest.mark.spec("HP-010")
def test_only_the_named_secrets_are_taken() -> None:
    taken = take_secrets(["TOKEN", "TOKEN"], {"TOKEN": "t", "OTHER": "o"}, wanted_by="pipeline `shop`")

    assert {name: secret.reveal() for name, secret in taken.items()} == {"TOKEN": "t"}


@pytest.mark.spec("HP-010")
def test_a_missing_secret_is_named_with_the_line_that_sets_it() -> None:
    with pytest.raises(MissingSecret) as caught:
        take_secrets(["SHOPIFY_TOKEN"], {}, wanted_by="pipeline `shopify-orders`")

    assert str(caught.value) == (
        "secret `SHOPIFY_TOKEN` is not set in the environment, wanted by pipeline `shopify-orders`"
    )
    assert caught.value.hint == "export SHOPIFY_TOKEN=..."
    assert (caught.value.code, caught.value.exit_code) == ("secrets.missing", 2)


def test_all_missing_secrets_are_named_at_once_and_an_empty_one_is_missing() -> None:
    with pytest.raises(MissingSecret) as caught:
        take_secrets(["A", "B", "C"], {"A": "", "B": "set"}, wanted_by="pipeline `shop`")

    assert caught.value.names == ("A", "C")
    assert str(caught.value) == "secrets `A`, `C` are not set in the environment, wanted by pipeline `shop`"
    assert caught.value.hint == "export A=... C=..."


@pytest.mark.parametrize(
    "written",
    [
        "p@ss/w+rd é",
        quote("p@ss/w+rd é"),
        quote("p@ss/w+rd é", safe=""),
        quote("p@ss/w+rd é", safe="").lower(),
        quote_plus("p@ss/w+rd é"),
        json.dumps("p@ss/w+rd é")[1:-1],
        base64.b64encode("p@ss/w+rd é".encode()).decode(),
        base64.b64encode("p@ss/w+rd é".encode()).decode().rstrip("="),
        base64.urlsafe_b64encode("p@ss/w+rd é".encode()).decode(),
    ],
)
def test_a_secret_is_masked_in_every_form(written: str) -> None:
    assert mask(f"before {written} after {written}", [Secret("p@ss/w+rd é")]) == "before *** after ***"


@pytest.mark.parametrize("user", ["u", "us", "use"])
def test_a_password_is_masked_inside_a_basic_authorization_header(user: str) -> None:
    password = "correct-horse-battery"
    header = base64.b64encode(f"{user}:{password}".encode()).decode()

    masked = mask(f"Authorization: Basic {header}", [Secret(password)])

    left = masked.removeprefix("Authorization: Basic ")
    assert "***" in left
    assert len(left) <= len(user) * 2 + len("***") + 4


def test_secrets_that_overlap_leave_nothing_over() -> None:
    assert mask("xabcdex abc", [Secret("abc"), Secret("cde"), Secret("")]) == "x***x ***"


def test_a_secret_that_is_not_utf_8_is_masked_too() -> None:
    assert mask("a k\udcffy b", [Secret("k\udcffy")]) == "a *** b"


def test_a_text_without_secrets_stays_as_it_is() -> None:
    assert masker([])("as it is") == "as it is"


@given(st.text(), st.lists(VALUES, min_size=1, max_size=4), st.text())
def test_no_secret_is_left_in_a_masked_text(before: str, values: list[str], after: str) -> None:
    masked = mask(before + "".join(values) + after, map(Secret, values))

    assert not any(value in masked for value in values)
