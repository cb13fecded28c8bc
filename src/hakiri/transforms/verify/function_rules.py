"""Functions that are allowed within limits: what each asks of its arguments.

A rule sees the arguments as they stand, so a function with a rule takes neither named arguments nor `*`,
with which Spark would put others in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from hakiri.transforms.verify import limits
from hakiri.transforms.verify.functions import ALLOWED_FUNCTIONS, SKETCH_BUILDERS, SKETCH_READERS
from hakiri.transforms.verify.literals import (
    arguments_of,
    bounds,
    function_of,
    is_short_literal,
    literal_integer,
    literal_number,
    literal_of,
    literal_text,
)
from hakiri.transforms.verify.reasons import Reason
from hakiri.transforms.verify.sequences import sequence_problem
from hakiri.transforms.verify.type_text import is_schema, is_type
from hakiri.transforms.verify.windows import window_problem
from hakiri.transforms.verify.words import words

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

Arguments = Sequence["Expression"]
Rule = Callable[[Arguments], Reason | None]

_MOVABLE = ("unresolved_star", "unresolved_regex", "named_argument_expression")
_FORMAT_NUMBER = re.compile(r"%[^A-Za-z%]*")
_DIGITS = re.compile(r"\d+")
_PATH_INDEX = re.compile(r"\[\s*(\d+)\s*\]")
_PLAIN_PATH = re.compile(r"""\$(?:\.[^.\[\]'"]+|\[\s*\d+\s*\]|\['[^'\]]*'\]|\["[^"\]]*"\])*""")
_OPTIONS = words("""
    allowbackslashescapinganycharacter allowcomments allownonnumericnumbers allownumericleadingzeros
    allowsinglequotes allowunquotedcontrolchars allowunquotedfieldnames chartoescapequoteescaping
    columnnameofcorruptrecord comment dateformat delimiter dropfieldifallnull emptyvalue
    enabledatetimeparsingfallback escape ignoreleadingwhitespace ignorenullfields ignoretrailingwhitespace
    linesep locale mode multiline nanvalue negativeinf nullvalue positiveinf prefersdecimal pretty
    primitivesasstring quote quoteall sep singlevariantcolumn timeformat timestampformat timestampntzformat
    timezone unescapedquotehandling writenonasciicharacterascodepoint
    """)
_SKETCHES = frozenset((SKETCH_BUILDERS + SKETCH_READERS).split())


def rule_problem(name: str, arguments: Arguments) -> Reason | None:
    """What a call of an allowed function still does wrong; None if nothing."""
    rule = RULES.get(name)
    if rule is None:
        return None
    if any(argument.WhichOneof("expr_type") in _MOVABLE for argument in arguments):
        return Reason(
            "takes its arguments one by one, without `*` and without names",
            "write every argument in its place",
        )
    return rule(arguments)


def _at_most(index: int, most: int, *, least: int | None = None, by_data: bool = True) -> Rule:
    def rule(arguments: Arguments) -> Reason | None:
        if index >= len(arguments):
            return None
        low, high = bounds(arguments[index], by_data=by_data)
        if high <= most and (least is None or low >= least):
            return None
        span = f"at most {most}" if least is None else f"between {least} and {most}"
        return Reason(
            f"makes a value of a size that its argument {index + 1} gives, which must be {span}",
            f"write a number, or limit the column as in `F.least('n', F.lit({most}))`",
        )

    return rule


def _literal_between(index: int, least: float, most: float) -> Rule:
    def rule(arguments: Arguments) -> Reason | None:
        if index >= len(arguments):
            return None
        number = literal_number(arguments[index])
        number = literal_integer(arguments[index]) if number is None else number
        if number is not None and least <= number <= most:
            return None
        return Reason(
            f"needs a number between {least} and {most} as its argument {index + 1}",
            "write such a number as a literal",
        )

    return rule


def _all_of(*rules: Rule) -> Rule:
    return lambda arguments: next((found for rule in rules if (found := rule(arguments))), None)


def _repeat(arguments: Arguments) -> Reason | None:
    if arguments and is_short_literal(arguments[0]):
        return _at_most(1, limits.MOST_ELEMENTS)(arguments)
    return _at_most(1, limits.MOST_REPEATS, by_data=False)(arguments)


def _format_number(arguments: Arguments) -> Reason | None:
    text = literal_text(arguments[1]) if len(arguments) > 1 else None
    if text is not None and len(text) <= limits.WIDEST_FORMAT:
        return None
    return _at_most(1, limits.MOST_DIGITS)(arguments)


def _format_string(arguments: Arguments) -> Reason | None:
    text = literal_text(arguments[0]) if arguments else None
    if text is not None and all(
        len(digits) <= len(str(limits.WIDEST_FORMAT)) and int(digits) <= limits.WIDEST_FORMAT
        for spec in _FORMAT_NUMBER.findall(text)
        for digits in _DIGITS.findall(spec)
    ):
        return None
    return Reason(
        f"needs a literal format whose widths are at most {limits.WIDEST_FORMAT}",
        "write the format as a literal, or use `F.concat` and `F.lpad`",
    )


def _schema(arguments: Arguments) -> Reason | None:
    if len(arguments) > 1 and not _is_schema(arguments[1]):
        return Reason(
            "needs its schema as a literal, without defaults, comments and metadata",
            "write the schema as text such as `a int, b array<string>`",
        )
    return _options(2)(arguments)


def _is_schema(expression: Expression) -> bool:
    if function_of(expression) in ("schema_of_json", "schema_of_csv"):
        inner = arguments_of(expression)
        return len(inner) > 0 and literal_text(inner[0]) is not None
    text = literal_text(expression)
    return text is not None and is_schema(text)


def _options(index: int) -> Rule:
    def rule(arguments: Arguments) -> Reason | None:
        if index >= len(arguments):
            return None
        given = arguments[index]
        texts = [literal_text(argument) for argument in arguments_of(given)]
        if function_of(given) == "map" and None not in texts and _are_options(texts[::2]):
            return None
        return Reason(
            "takes only options about the form of values, as literals",
            "leave out the other options",
        )

    return rule


def _are_options(keys: Sequence[str | None]) -> bool:
    return all(key is not None and key.lower() in _OPTIONS for key in keys)


def _variant_type(arguments: Arguments) -> Reason | None:
    text = literal_text(arguments[2]) if len(arguments) > 2 else "variant"  # noqa: PLR2004 - value, path, type
    if text is not None and is_type(text):
        return None
    return Reason("needs its type as a literal", "write a type such as `bigint` or `array<string>`")


def _variant_path(arguments: Arguments) -> Reason | None:
    path = literal_text(arguments[1]) if len(arguments) > 1 else ""
    # Spark fills a list with NULLs up to the position that is set.
    if path is not None and (
        (not path or _PLAIN_PATH.fullmatch(path))
        and all(len(at) < 6 and int(at) <= limits.MOST_REPEATS for at in _PATH_INDEX.findall(path))  # noqa: PLR2004
    ):
        return None
    return Reason(
        f"needs its path as a literal, with positions up to {limits.MOST_REPEATS}",
        "write a path such as `$.items[0].name`",
    )


def _stack(arguments: Arguments) -> Reason | None:
    rows = literal_integer(arguments[0]) if arguments else None
    if rows is not None and 1 <= rows < max(len(arguments), 2):
        return None
    return Reason("needs a literal number of rows, at most one for each value", "write the number of rows")


def _unix_timestamp(arguments: Arguments) -> Reason | None:
    if arguments:
        return None
    return Reason(
        "gives another value when a chunk is read again, without an argument",
        "give it a column, or use the column `_ingested_at` that every row of the store has",
    )


def _sketch_reader(arguments: Arguments) -> Reason | None:
    def is_safe(argument: Expression) -> bool:
        literal = literal_of(argument)
        if literal is not None:
            return bool(literal.WhichOneof("literal_type") != "binary")
        return function_of(argument) in _SKETCHES

    if all(is_safe(argument) for argument in arguments):
        return None
    return Reason(
        "reads a sketch from bytes, and bytes that are none can take all memory",
        "give it the function that makes the sketch, as in `hll_sketch_estimate(hll_sketch_agg(x))`",
    )


_ROUND = _literal_between(1, -limits.MOST_DIGITS, limits.MOST_DIGITS)
_PAD = _at_most(1, limits.MOST_ELEMENTS)
_ACCURACY = _literal_between(2, 1, limits.MOST_ACCURACY)


def _log2(index: int) -> Rule:
    return _literal_between(index, 4, limits.LARGEST_SKETCH_LOG2)


_LIMITED: Mapping[str, Rule] = {
    "repeat": _repeat,
    "array_repeat": _repeat,
    "space": _at_most(0, limits.MOST_ELEMENTS),
    "lpad": _PAD,
    "rpad": _PAD,
    "array_insert": _at_most(1, limits.MOST_ELEMENTS, least=-limits.MOST_ELEMENTS),
    "sequence": sequence_problem,
    "stack": _stack,
    "window": window_problem,
    "round": _ROUND,
    "bround": _ROUND,
    "ceil": _ROUND,
    "ceiling": _ROUND,
    "floor": _ROUND,
    "format_number": _format_number,
    "format_string": _format_string,
    "printf": _format_string,
    "from_json": _schema,
    "from_csv": _schema,
    "to_json": _options(1),
    "to_csv": _options(1),
    "schema_of_json": _options(1),
    "schema_of_csv": _options(1),
    "variant_get": _variant_type,
    "try_variant_get": _variant_type,
    "variant_set": _variant_path,
    "try_variant_set": _variant_path,
    "variant_insert": _variant_path,
    "try_variant_insert": _variant_path,
    "unix_timestamp": _unix_timestamp,
    "to_unix_timestamp": _unix_timestamp,
    "approx_count_distinct": _literal_between(1, limits.LEAST_RELATIVE_ERROR, 1),
    "count_min_sketch": _all_of(
        _literal_between(1, limits.LEAST_SKETCH_ERROR, 1),
        _literal_between(2, 0, limits.MOST_SKETCH_CONFIDENCE),
    ),
    "histogram_numeric": _literal_between(1, 2, limits.MOST_BINS),
    "approx_percentile": _ACCURACY,
    "percentile_approx": _ACCURACY,
    "hll_sketch_agg": _log2(1),
    "theta_sketch_agg": _log2(1),
    "tuple_sketch_agg_double": _log2(2),
    "tuple_sketch_agg_integer": _log2(2),
}
_LOG2_OF_READERS = {"theta_union_agg": 1, "tuple_union_agg_double": 1, "tuple_union_agg_integer": 1} | {
    name: 2
    for name in ALLOWED_FUNCTIONS
    if re.fullmatch(r"theta_union|tuple_union_(theta_)?(double|integer)", name)
}
RULES: Mapping[str, Rule] = MappingProxyType(
    dict(_LIMITED)
    | dict.fromkeys(SKETCH_READERS.split(), _sketch_reader)
    | {name: _all_of(_sketch_reader, _log2(index)) for name, index in _LOG2_OF_READERS.items()}
)
