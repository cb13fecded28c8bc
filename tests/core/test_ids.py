from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.ids import EPOCH, fresh_entropy, fresh_nonce, fresh_token, new_uuid7

MOMENTS = st.integers(0, 250_000_000_000_000_000).map(lambda us: EPOCH + timedelta(microseconds=us))
ENTROPY = st.binary(min_size=8, max_size=8)


def test_an_id_is_the_example_of_the_standard() -> None:
    # RFC 9562, appendix A.6, but for the 12 bits that hold the fraction of the millisecond here.
    moment = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)

    made = new_uuid7(moment, bytes.fromhex("18c4dc0c0c07398f"))

    assert made == "017f22e2-79b0-7000-98c4-dc0c0c07398f"


@given(MOMENTS, ENTROPY)
def test_an_id_is_a_uuid_of_version_seven_that_holds_its_time(moment: datetime, entropy: bytes) -> None:
    made = uuid.UUID(new_uuid7(moment, entropy))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == (moment - EPOCH) // timedelta(milliseconds=1)


@given(MOMENTS, ENTROPY, MOMENTS, ENTROPY)
def test_a_later_microsecond_sorts_later(
    a: datetime, entropy_a: bytes, b: datetime, entropy_b: bytes
) -> None:
    if a != b:
        assert (new_uuid7(a, entropy_a) < new_uuid7(b, entropy_b)) == (a < b)


def test_the_same_moment_and_entropy_give_the_same_id() -> None:
    moment, entropy = datetime(2025, 1, 1, tzinfo=UTC), b"\xff" * 8

    assert new_uuid7(moment, entropy) == new_uuid7(moment, entropy)


@pytest.mark.parametrize(
    ("moment", "entropy"),
    [
        (datetime.fromisoformat("2025-01-01"), b"12345678"),
        (datetime(1969, 12, 31, tzinfo=UTC), b"12345678"),
        (datetime(2025, 1, 1, tzinfo=UTC), b"1234567"),
    ],
)
def test_an_id_needs_a_moment_in_a_zone_and_eight_bytes(moment: datetime, entropy: bytes) -> None:
    with pytest.raises(ValueError, match="an id needs"):
        new_uuid7(moment, entropy)


def test_entropy_and_tokens_are_fresh_each_time() -> None:
    assert len(fresh_entropy()) == 8
    assert len({fresh_entropy() for _ in range(100)}) == 100
    assert len(fresh_token()) == 64
    assert fresh_token() != fresh_token()


def test_nonces_are_128_bits_and_never_equal() -> None:
    nonces = {fresh_nonce() for _ in range(1000)}

    assert len(nonces) == 1000
    assert {len(bytes.fromhex(nonce)) for nonce in nonces} == {16}
