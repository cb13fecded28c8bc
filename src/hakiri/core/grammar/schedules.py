"""When something runs: `every 15m`, or a cron line of five fields."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from hakiri.core.grammar.durations import Duration, spell_duration
from hakiri.core.grammar.text import BadText, OutOfCalendar

HINT = "write `every 15m`, or five cron fields like `0 */2 * * *`"
CRON_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
DAY_OF_MONTH = 2
FIELDS_WERE_EXPECTED = f"a line of the five fields {', '.join(CRON_FIELDS)}"
VALUES_OF_FIELD = ("0 to 59", "0 to 23", "1 to 31 or L", "1 to 12 or JAN to DEC", "0 to 7 or SUN to SAT")
# Any fixed moment serves to ask whether a cron line ever fires; a leap year saves a step for 29 February.
START_OF_CHECK = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Every:
    """Again when this much time has passed since the last start."""

    duration: Duration

    @property
    def text(self) -> str:
        return f"every {self.duration.text}"


@dataclass(frozen=True, slots=True)
class Cron:
    """At the times of a cron line of five fields, in the time zone of the moment it is asked about.

    A Cron that exists is valid and fires sooner or later: making a bad one raises BadText.
    """

    expression: str

    def __post_init__(self) -> None:
        _check_cron(self.expression)

    @property
    def text(self) -> str:
        return self.expression


Schedule = Every | Cron


def parse_schedule(text: str) -> Schedule:
    """Read `every <duration>` or a cron line; raises BadText with the position."""
    words = _words_with_positions(text)
    if words and words[0][1] == "every":
        return Every(_duration_of_every(text, words))
    if words and _looks_like_cron(text, words):
        return Cron(text)
    position, found = words[0] if words else (0, "")
    raise _refusal(text, position, found, "`every` and a duration, or a line of five cron fields")


def next_after(schedule: Schedule, moment: datetime) -> datetime:
    """The first time after the moment, in the moment's own zone.

    For `every`, the moment is the last start. Cron follows Debian where clocks change: a fixed time that
    is skipped fires right after the gap, and one that comes twice fires once; a line whose minute or hour
    begins with `*` follows the wall clock, through the repeated hour twice and the skipped one not at all.
    """
    if moment.tzinfo is None:
        raise ValueError("a schedule needs a moment with a time zone")
    if isinstance(schedule, Every):
        return schedule.duration.after(moment)
    return _next_of_cron(schedule.expression, moment)


def describe(schedule: Schedule) -> str:
    """The schedule in words: `every 15 minutes`, `At 02:00 every day`."""
    if isinstance(schedule, Every):
        words = spell_duration(schedule.duration)
        return f"every {words.removeprefix('1 ')}" if words.count(" ") == 1 else f"every {words}"
    from cronsim import CronSim

    return str(CronSim(schedule.expression, START_OF_CHECK).explain())


def _next_of_cron(expression: str, moment: datetime) -> datetime:
    from cronsim import CronSim

    # Compared in UTC: inside one zone Python compares wall clocks, and in the hour that comes twice
    # cronsim may answer with the first pass when it is asked in the second.
    asked = moment.astimezone(UTC)
    with suppress(OverflowError):  # the calendar ends before it fires again
        for candidate in CronSim(expression, moment):
            if candidate.astimezone(UTC) > asked:
                return candidate
    raise OutOfCalendar(
        f"`{expression}` does not fire again after {moment.isoformat()}", hint="use another schedule"
    )


def _words_with_positions(text: str) -> list[tuple[int, str]]:
    words, position = [], 0
    for word in text.split():
        position = text.index(word, position)
        words.append((position, word))
        position += len(word)
    return words


def _looks_like_cron(text: str, words: list[tuple[int, str]]) -> bool:
    is_counted_like_cron = len(words) in {len(CRON_FIELDS), len(CRON_FIELDS) + 1}
    return "*" in text or (is_counted_like_cron and not words[0][1][0].isalpha())


def _duration_of_every(text: str, words: list[tuple[int, str]]) -> Duration:
    _, *after_every = words
    if not after_every:
        raise _refusal(text, len(text), "", "a duration like `15m`")
    (position, written), *too_much = after_every
    if too_much:
        raise _refusal(text, *too_much[0], "the end")
    try:
        return Duration.parse(written)
    except BadText as error:
        raise error.inside("schedule", text, offset=position, hint=HINT) from None


def _check_cron(expression: str) -> None:
    from cronsim import CronSim

    words = _words_with_positions(expression)
    if len(words) < len(CRON_FIELDS):
        raise _refusal(expression, len(expression), "", FIELDS_WERE_EXPECTED)
    if len(words) > len(CRON_FIELDS):
        raise _refusal(expression, *words[len(CRON_FIELDS)], FIELDS_WERE_EXPECTED)
    for index, (position, written) in enumerate(words):
        _check_field(expression, index, position, written)
    # Every field is right by itself; what is left is a day that never comes, like 31 February.
    if not _is_accepted(expression) or next(CronSim(expression, START_OF_CHECK), None) is None:
        raise _refusal(
            expression, *words[DAY_OF_MONTH], "a day of month that comes together with the other fields"
        )


def _check_field(expression: str, index: int, position: int, written: str) -> None:
    for term in written.split(","):
        alone = ["*"] * len(CRON_FIELDS)
        alone[index] = term
        if not term or not _is_accepted(" ".join(alone)):
            expected = f"for the {CRON_FIELDS[index]} a value of {VALUES_OF_FIELD[index]}, a range or a step"
            raise _refusal(expression, position, term or None, expected)
        position += len(term) + 1


def _is_accepted(expression: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        CronSim(expression, START_OF_CHECK)
    except (CronSimError, ValueError):  # ValueError: a number of thousands of digits
        return False
    return True


def _refusal(text: str, position: int, found: str | None, expected: str) -> BadText:
    return BadText("schedule", text, position=position, found=found, expected=expected, hint=HINT)
