from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import BadText, Size, format_size

UNIT = "one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, k, m, g, t"


@pytest.mark.parametrize(
    ("text", "number_of_bytes"),
    [
        ("17B", 17),
        ("1KB", 1000),
        ("512MB", 512 * 1000**2),
        ("512 mb", 512 * 1000**2),
        ("2GB", 2 * 1000**3),
        ("3TB", 3 * 1000**4),
        ("1KiB", 1024),
        ("1mib", 1024**2),
        ("2GiB", 2 * 1024**3),
        ("1TiB", 1024**4),
        ("2g", 2 * 1024**3),
        ("512M", 512 * 1024**2),
        ("64k", 64 * 1024),
        ("1t", 1024**4),
        ("1.5GB", 1_500_000_000),
        ("0.5KiB", 512),
    ],
)
def test_a_size_is_read(text: str, number_of_bytes: int) -> None:
    size = Size.parse(text)

    assert (size.text, size.bytes) == (text, number_of_bytes)


def test_sizes_are_equal_by_bytes() -> None:
    assert Size.parse("1000KB") == Size.parse("1MB")
    assert Size.parse("1GB") != Size.parse("1g")


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", "a number and a unit"),
        ("512", "unexpected end at position 4", UNIT),
        ("512 XB", "unexpected `XB` at position 5", UNIT),
        ("512MB!", "unexpected `!` at position 6", "the end"),
        ("-1MB", "unexpected `-` at position 1", "a number and a unit"),
        ("1.GB", "unexpected `G` at position 3", "a digit"),
        ("0B", "unexpected `0B` at position 1", "a size above zero"),
        ("1.5B", "unexpected `1.5B` at position 1", "a whole number of bytes"),
        ("9999999TB", "unexpected `9999999TB` at position 1", "a size below 2 to the power of 63 bytes"),
        (
            "12345678901234567890B",
            "unexpected `12345678901234567890` at position 1",
            "a number of at most 19 digits",
        ),
    ],
)
def test_a_bad_size_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        Size.parse(text)

    whole = f"`{text}`" if text else "an empty text"
    assert str(caught.value) == f"{whole} is not a size: {seen} ({expected} was expected)"
    assert caught.value.hint == "write a size like `512MB`, `1.5GB`, `2GiB` or `2g`"


@pytest.mark.parametrize(
    ("number_of_bytes", "text"),
    [
        (0, "0B"),
        (999, "999B"),
        (1000, "1KB"),
        (1536, "1.54KB"),
        (999_499, "999KB"),
        (999_500, "1MB"),
        (512_000_000, "512MB"),
        (1_500_000_000, "1.5GB"),
        (1_050_000_000, "1.05GB"),
        (2**60, "1150000TB"),
    ],
)
def test_a_size_is_written_for_people(number_of_bytes: int, text: str) -> None:
    assert format_size(number_of_bytes) == text


def test_a_negative_size_has_no_text() -> None:
    with pytest.raises(ValueError, match="not negative"):
        format_size(-1)


@given(st.integers(min_value=1, max_value=2**62))
def test_a_written_size_is_within_half_a_percent(number_of_bytes: int) -> None:
    assert abs(Size.parse(format_size(number_of_bytes)).bytes - number_of_bytes) <= number_of_bytes * 0.005


@given(st.text(alphabet="0159.kKmMgGtTiIbB ", max_size=12) | st.text(max_size=8))
def test_any_text_is_read_as_a_size_or_refused_inside_itself(text: str) -> None:
    outcome = read_or_refused(text)

    if isinstance(outcome, BadText):
        assert 0 <= outcome.position <= len(text)
    else:
        assert 0 < outcome.bytes < 2**63


def read_or_refused(text: str) -> Size | BadText:
    try:
        return Size.parse(text)
    except BadText as refusal:
        return refusal
