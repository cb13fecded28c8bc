from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hakiri.cli.board.parts import clipped, padded, shortened
from hakiri.cli.board.words import (
    ASCII,
    UNICODE,
    bytes_rate,
    counted,
    elapsed_words,
    predicate_words,
    remaining_words,
    rows_rate,
    seconds_words,
    signs_for,
    trouble_words,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (4.24, "4.2 s"),
        (10.4, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3_690, "1 h 01 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_seconds_are_said_in_the_units_that_matter(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


def test_time_that_ticks_is_whole_and_never_negative() -> None:
    assert [elapsed_words(seconds) for seconds in (-1, 0.9, 3.9, 75)] == ["0 s", "0 s", "3 s", "1 min 15 s"]
    assert [remaining_words(seconds) for seconds in (-1, 0.1, 3.1, 74.5)] == [
        "0 s",
        "1 s",
        "4 s",
        "1 min 15 s",
    ]


def test_rates_and_counts_are_grouped() -> None:
    assert [rows_rate(rate) for rate in (0, 3.14, 850, 85_012.7)] == [
        "0 rows/s",
        "3.1 rows/s",
        "850 rows/s",
        "85,013 rows/s",
    ]
    assert bytes_rate(1_240_000.9) == "1.24MB/s"
    assert (counted(1, "row"), counted(1_204, "row")) == ("1 row", "1,204 rows")


def test_trouble_is_said_only_if_there_is_any() -> None:
    said = [trouble_words(failed=failed, retries=retries) for failed, retries in [(0, 0), (0, 1), (2, 3)]]

    assert said == ["", "1 retry", "2 failed, 3 retries"]


def test_a_moment_at_midnight_is_read_as_a_date() -> None:
    predicate = (
        "at >= 2024-01-01T00:00:00Z and\n at < 2024-02-01T00:00:00.000000+00:00 or at = 2024-01-01T00:00:30Z"
    )

    assert predicate_words(predicate) == "at >= 2024-01-01 and at < 2024-02-01 or at = 2024-01-01T00:00:30Z"


@pytest.mark.parametrize(
    ("encoding", "signs"), [("utf-8", UNICODE), ("UTF-16", UNICODE), ("ascii", ASCII), (None, UNICODE)]
)
def test_signs_that_a_stream_cannot_show_are_not_used(encoding: str | None, signs: object) -> None:
    assert signs_for(encoding) is signs


def test_the_middle_of_a_long_text_goes_first() -> None:
    assert shortened("a-very-long-pipeline-name", 12, UNICODE) == "a-very…-name"
    assert shortened("a-very-long-pipeline-name", 12, ASCII) == "a-ver...name"
    assert clipped("waiting 2 s for the source", 14, UNICODE) == "waiting 2 s f…"


@given(st.text(), st.integers(-1, 30), st.sampled_from([UNICODE, ASCII]))
def test_a_shortened_text_never_takes_more_cells_than_there_are(text: str, cells: int, signs: object) -> None:
    line = text.replace("\n", " ")

    assert cell_len(shortened(line, cells, signs)) <= max(cells, 0)  # type: ignore[arg-type]
    assert cell_len(clipped(line, cells, signs)) <= max(cells, 0)  # type: ignore[arg-type]
    assert cell_len(padded(clipped(line, 10, UNICODE), 12)) == 12
