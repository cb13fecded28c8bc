"""How large the value of an expression can be, counted in values of a table.

An estimate from above for what a plan does by itself: put together, repeated, replaced, written out. 1 is a
column of a table, taken to be a thousand letters or elements long; a number or a date is a thousandth of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hakiri.transforms.verify import functions
from hakiri.transforms.verify.literals import literal_of, literal_text
from hakiri.transforms.verify.words import words

LENGTH = 1_000.0
SMALL = 1 / LENGTH

SMALL_RESULTS = words(
    functions.OPERATORS + functions.MATH + functions.BITS + functions.DATES_AND_TIMES + functions.HASHES
) | words(
    """
    isnull isnotnull isnan equal_null typeof assert_true length len char_length character_length octet_length
    bit_length ascii instr locate position contains startswith endswith like ilike rlike regexp regexp_like
    regexp_count regexp_instr levenshtein size cardinality array_size array_contains array_position exists
    forall arrays_overlap json_array_length map_contains_key count count_if approx_count_distinct avg mean
    """
)
SUMS = words(
    """
    concat struct named_struct array map format_string printf overlay array_union array_append array_prepend
    array_insert arrays_zip map_concat map_from_arrays
    """
)
# One thing is put in for each letter, match or element of another.
SEPARATED = words("array_join concat_ws listagg string_agg")
REPLACED = ("replace", "regexp_replace")
# What these write takes more room than what they were given.
WIDER: Mapping[str, float] = {
    "hex": 2,
    "base64": 4 / 3,
    "to_base32": 8 / 5,
    "quote": 2,
    "encode": 2,
    "to_json": 2,
    "to_csv": 2,
    "url_encode": 3,
    "regexp_extract_all": LENGTH,  # matches may overlap
}
COLLECTED = words("collect_list collect_set collect_union array_agg listagg string_agg")
_GROUP = re.compile(r"\$\{?\w+\}?")
_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def call_size(
    name: str, arguments: Sequence[Any], sizes: Sequence[float], *, fields_apart: bool = False
) -> float:
    """The size of what a function gives, by the sizes of its arguments; lambdas are not among them.

    Different fields of one value are together no more than that value, unless they are to be told apart.
    """
    if name in SMALL_RESULTS or not sizes:
        return SMALL
    if name in SUMS:
        return sum(sizes) if fields_apart else _sum(arguments, sizes)
    if name in REPLACED:
        return sizes[0] * _replacement(name, arguments, sizes)
    if name in SEPARATED:
        columns = [size for given, size in zip(arguments, sizes, strict=True) if literal_of(given) is None]
        texts = [len(literal_text(given) or "") for given in arguments]
        return (
            sum(columns)
            * (1 + max(texts) * SMALL)
            * (LENGTH if len(columns) > 1 and name != "concat_ws" else 1)
        )
    return max(sizes) * WIDER.get(name, 1)


def literal_size(literal: Any) -> float:
    return float(max(literal.ByteSize() * SMALL, SMALL))


def name_parts(identifier: str) -> list[str]:
    """`a.b` as a and b, in lower case; a column may have its table before it and a field behind it."""
    return [(quoted or bare).lower() for quoted, bare in _NAME_PART.findall(identifier)]


def _sum(arguments: Sequence[Any], sizes: Sequence[float]) -> float:
    total, by_root = 0.0, Counter[tuple[str, str]]()
    size_of: dict[str, float] = {}
    for argument, size in zip(arguments, sizes, strict=True):
        found = _field(argument)
        if found is None:
            total += size
        else:
            by_root[found] += 1
            size_of[found[0]] = max(size, size_of.get(found[0], 0))
    most = {root: max(times for (of, _), times in by_root.items() if of == root) for root in size_of}
    return total + sum(size * most[root] for root, size in size_of.items())


def _field(expression: Any) -> tuple[str, str] | None:
    """The value and the field that an expression takes from it; None if it takes none."""
    kind = expression.WhichOneof("expr_type")
    if kind == "alias":
        return _field(expression.alias.expr)
    if kind == "unresolved_attribute":
        root, *fields = name_parts(expression.unresolved_attribute.unparsed_identifier) or [""]
        return (root, ".".join(fields)) if fields else None
    if kind == "unresolved_extract_value":
        extract = expression.unresolved_extract_value
        name = literal_text(extract.extraction)
        variable = extract.child.unresolved_named_lambda_variable.name_parts
        if name is not None and variable:
            return "\0" + variable[0], name.lower()
    return None


def _replacement(name: str, arguments: Sequence[Any], sizes: Sequence[float]) -> float:
    """By how much a text grows in which everything that can be replaced is."""
    if len(arguments) < 3:  # noqa: PLR2004 - a text, what is looked for, what is put there
        return 1
    sought, new = literal_text(arguments[1]), literal_text(arguments[2])
    if new is None:
        return LENGTH * max(sizes[2], 1)
    shortest = len(sought or "") if name == "replace" else _shortest_match(sought or "")
    groups = _GROUP.findall(new) if name == "regexp_replace" else []
    growth = (
        max(len(groups), 1) + len(_GROUP.sub("", new)) / shortest if groups else len(new) / max(shortest, 1)
    )
    return max(growth, 1)


def _shortest_match(pattern: str) -> int:
    """How many letters every match of a regular expression has at least; 1 where that is not known."""
    parser = getattr(re, "_parser", None)  # the only part of Python that knows, and it is not promised
    try:
        return max(int(parser.parse(pattern).getwidth()[0]), 1) if parser is not None else 1
    except (re.error, RecursionError, OverflowError):
        return 1
