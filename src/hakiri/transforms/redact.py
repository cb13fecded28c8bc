"""Keeping content out of the store: helpers for authors that are nothing but columns.

    @hk.pipeline("customers")
    def customers(df):
        return hk.redact.drop(df, "ssn").withColumns({
            "email": hk.redact.hash("email"),
            "card": hk.redact.mask("card", keep_last=4),
            "phone": hk.redact.tokenize("phone", kind="phone"),
        })

The value itself never reaches the disk: what is written is the result. NULL stays NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BITS = 256
_TOKEN_CHARACTERS = 22
MASK_SIGN = "*"


def drop(rows: DataFrame, *columns: str) -> DataFrame:
    """The rows without these columns."""
    return rows.drop(*columns)


def mask(column: str | Column, *, keep_first: int = 0, keep_last: int = 0, sign: str = MASK_SIGN) -> Column:
    """The text with every character replaced, except for the first and last few.

    A text that is no longer than what would be kept is masked whole.
    """
    from pyspark.sql import functions as F

    if keep_first < 0 or keep_last < 0:
        raise ValueError("mask keeps none or more characters, not fewer")
    if len(sign) != 1:
        raise ValueError("mask takes one character as its sign")
    text = _column(column).cast("string")
    length = F.length(text)
    hidden = length - (keep_first + keep_last)
    middle = F.regexp_replace(F.substring(text, F.lit(keep_first + 1), hidden), "(?s).", _quoted(sign))
    kept = F.concat(F.left(text, F.lit(keep_first)), middle, F.right(text, F.lit(keep_last)))
    return F.when(hidden > 0, kept).otherwise(F.regexp_replace(text, "(?s).", _quoted(sign)))


def hash(column: str | Column, *, salt: str = "") -> Column:  # noqa: A001 - what an author calls it
    """The SHA-256 of the value as 64 hexadecimal digits: equal values stay equal.

    A salt that is known protects from tables made in advance, not from trying out: few possible values, such
    as phone numbers, can be found again by anybody who tries them all. Drop or mask those.
    """
    from pyspark.sql import functions as F

    return F.sha2(F.concat(F.lit(salt), _column(column).cast("string")), _BITS)


def tokenize(column: str | Column, *, kind: str, salt: str = "") -> Column:
    """A short stand-in like `email_3fK…`: the same for the same value and kind, so tables still join.

    Another `kind` gives another token for the same value. See `hash` for what a salt can do.
    """
    from pyspark.sql import functions as F

    if not kind:
        raise ValueError('tokenize needs a kind, as in kind="email"')
    digest = F.unhex(hash(F.concat(F.lit(f"{kind}\x1f"), _column(column).cast("string")), salt=salt))
    text = F.translate(F.base64(digest), "+/=", "-_")
    return F.concat(F.lit(f"{kind}_"), F.substring(text, 1, _TOKEN_CHARACTERS))


def _column(column: str | Column) -> Column:
    from pyspark.sql import functions as F

    return F.col(column) if isinstance(column, str) else column


def _quoted(sign: str) -> str:
    """The sign as the replacement of a regular expression, where `$` and `\\` mean something."""
    return f"\\{sign}" if sign in "$\\" else sign
