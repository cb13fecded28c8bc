"""`OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … AND …)`, and the orders that queries use too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.intervals import negated

if TYPE_CHECKING:
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.reading import Reading

    Boundary = proto.Expression.Window.WindowFrame.FrameBoundary

_MOST_ROWS = 2**31 - 1


def read_over(reading: Reading, function: Expression) -> Expression:
    """The call with the window behind it."""
    reading.cursor.expect_word("OVER")
    node = read_window(reading)
    node.window.window_function.CopyFrom(function)
    return node


def read_window(reading: Reading) -> Expression:
    """A window without a function: its name, or its definition in parentheses."""
    cursor = reading.cursor
    if not cursor.accept_symbol("("):
        return _window_of_name(reading)
    if cursor.at_name() and cursor.ahead().text == ")":
        node = _window_of_name(reading)
        cursor.expect_symbol(")")
        return node
    cursor.deeper()
    node = nodes.expression()
    node.window.SetInParent()
    if cursor.at_word("CLUSTER"):
        cursor.fail("CLUSTER BY is not supported", "write PARTITION BY")
    if cursor.accept_word("PARTITION", "DISTRIBUTE"):
        cursor.expect_word("BY")
        node.window.partition_spec.append(_expression(reading))
        while cursor.accept_symbol(","):
            node.window.partition_spec.append(_expression(reading))
    if cursor.at_word("ORDER", "SORT"):
        cursor.take()
        cursor.expect_word("BY")
        node.window.order_spec.extend(read_orders(reading))
    if cursor.at_word("ROWS", "RANGE"):
        _set_frame(reading, node)
    cursor.expect_symbol(")")
    cursor.shallower()
    return node


def read_orders(reading: Reading) -> list[proto.Expression.SortOrder]:
    """`a, b DESC, c NULLS LAST`. NULLs come first, and last where the order descends."""
    orders = [_order(reading)]
    while reading.cursor.accept_symbol(","):
        orders.append(_order(reading))
    return orders


def _order(reading: Reading) -> proto.Expression.SortOrder:
    cursor = reading.cursor
    node = _expression(reading)
    is_ascending = cursor.accept_word("ASC", "DESC") != "DESC"
    is_nulls_first = is_ascending
    if cursor.accept_word("NULLS"):
        is_nulls_first = cursor.expect_word("FIRST", "LAST") == "FIRST"
    return nodes.sort_order(node, is_ascending=is_ascending, is_nulls_first=is_nulls_first)


def _expression(reading: Reading) -> Expression:
    from hakiri.transforms.sql.expressions import read_expression

    return read_expression(reading)


def _window_of_name(reading: Reading) -> Expression:
    cursor = reading.cursor
    token = cursor.token
    name = cursor.expect_name("a window")
    if name.lower() not in reading.windows:
        cursor.fail(f"there is no window `{name}`", f"add `WINDOW {name} AS (…)` to the query", token)
    node = nodes.expression()
    node.CopyFrom(reading.windows[name.lower()])
    reading.spend(node.ByteSize())
    return node


def _set_frame(reading: Reading, node: Expression) -> None:
    cursor = reading.cursor
    frame, kinds = node.window.frame_spec, nodes.messages().Expression.Window.WindowFrame
    is_rows = cursor.take().word == "ROWS"
    frame.frame_type = kinds.FRAME_TYPE_ROW if is_rows else kinds.FRAME_TYPE_RANGE
    if cursor.accept_word("BETWEEN"):
        _set_boundary(reading, frame.lower, is_rows=is_rows, is_start=True)
        cursor.expect_word("AND")
        _set_boundary(reading, frame.upper, is_rows=is_rows, is_start=False)
    else:
        _set_boundary(reading, frame.lower, is_rows=is_rows, is_start=True)
        frame.upper.current_row = True


def _set_boundary(reading: Reading, boundary: Boundary, *, is_rows: bool, is_start: bool) -> None:
    cursor = reading.cursor
    token = cursor.token
    if cursor.accept_words("CURRENT", "ROW"):
        boundary.current_row = True
    elif cursor.accept_word("UNBOUNDED"):
        if cursor.expect_word("PRECEDING", "FOLLOWING") != ("PRECEDING" if is_start else "FOLLOWING"):
            cursor.fail("the window's frame ends before it starts", "swap its two ends", token)
        boundary.unbounded = True
    else:
        value = _expression(reading)
        is_before = cursor.expect_word("PRECEDING", "FOLLOWING") == "PRECEDING"
        if value.literal.WhichOneof("literal_type") in {"integer", "long"}:
            _set_number(reading, boundary, value, is_before=is_before)
        elif is_rows:
            cursor.fail("a frame of rows takes whole numbers", "write as in `ROWS 3 PRECEDING`", token)
        elif is_before:
            boundary.value.CopyFrom(negated(value) or nodes.call("negative", value))
        else:
            boundary.value.CopyFrom(value)


def _set_number(reading: Reading, boundary: Boundary, value: Expression, *, is_before: bool) -> None:
    """An int, also for a RANGE, where DataFrames send a long: only an int can be a number of days."""
    number = value.literal.integer or value.literal.long
    if is_before:
        number = -number
    if number == 0:
        boundary.current_row = True
    elif abs(number) > _MOST_ROWS:
        reading.cursor.fail("the window's frame is too long", "write UNBOUNDED", reading.cursor.before())
    else:
        boundary.value.literal.integer = number
