"""Amounts of bytes: `512MB` (powers of 1000), `512MiB` and Spark's `512m` (powers of 1024)."""

from __future__ import annotations

from dataclasses import dataclass, field

from hakiri.core.grammar.text import Reader

HINT = "write a size like `512MB`, `1.5GB`, `2GiB` or `2g`"
UNIT_WAS_EXPECTED = "one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, k, m, g, t"
DECIMAL_UNITS = ("B", "KB", "MB", "GB", "TB")
BYTES_OF_UNIT = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
    **{letter: 1024**power for power, letter in enumerate("kmgt", start=1)},
}
LARGEST_BYTES = 2**63 - 1
MOST_DIGITS = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A number of bytes above zero. Equal when the bytes are: `1000KB` is `1MB`."""

    text: str = field(compare=False)
    bytes: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read a number and a unit in any case, blanks allowed between; raises BadText with the position."""
        reader = Reader("size", text, hint=HINT)
        whole, fraction = _read_number(reader)
        while reader.take_character(" "):
            pass
        factor = BYTES_OF_UNIT[_read_unit(reader)]
        number_of_bytes, rest = divmod(int(whole + fraction) * factor, 10 ** len(fraction))
        reader.position = len(text)
        if rest:
            raise reader.refusal("a whole number of bytes", at=0)
        if not number_of_bytes:
            raise reader.refusal("a size above zero", at=0)
        if number_of_bytes > LARGEST_BYTES:
            raise reader.refusal("a size below 2 to the power of 63 bytes", at=0)
        return cls(text=text, bytes=number_of_bytes)

    def __str__(self) -> str:
        return self.text


def format_size(number_of_bytes: int) -> str:
    """The size for people, in powers of 1000 and rounded to three digits: `512MB`, `1.54GB`, `0B`."""
    if number_of_bytes < 0:
        raise ValueError(f"a size is not negative: {number_of_bytes}")
    # In whole numbers, because a float would round 2 to the power of 60 before we do.
    step: int = 10 ** max(len(str(number_of_bytes)) - 3, 0)
    rounded = (number_of_bytes + step // 2) // step * step
    power = min((len(str(rounded)) - 1) // 3, len(DECIMAL_UNITS) - 1)
    whole, rest = divmod(rounded, 1000**power)
    decimals = f".{rest * 100 // 1000**power:02d}".rstrip("0").rstrip(".")
    return f"{whole}{decimals}{DECIMAL_UNITS[power]}"


def _read_number(reader: Reader) -> tuple[str, str]:
    whole = reader.take_digits()
    if not whole:
        raise reader.refusal("a number and a unit")
    fraction = ""
    if reader.take_character("."):
        fraction = reader.take_digits()
        if not fraction:
            raise reader.refusal("a digit")
    if len(whole) + len(fraction) > MOST_DIGITS:
        raise reader.refusal(f"a number of at most {MOST_DIGITS} digits", at=0)
    return whole, fraction


def _read_unit(reader: Reader) -> str:
    start = reader.position
    unit = reader.take_letters().lower()
    if not unit:
        raise reader.refusal(UNIT_WAS_EXPECTED)
    if unit not in BYTES_OF_UNIT:
        raise reader.refusal(UNIT_WAS_EXPECTED, at=start)
    if not reader.is_at_end:
        raise reader.refusal("the end")
    return unit
