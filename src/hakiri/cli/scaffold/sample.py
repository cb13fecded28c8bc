"""Sample orders, computed by formula: the same bytes on every machine, and no file to ship."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDER_COUNT = 200
COLUMNS = ("order_id", "customer", "country", "item", "quantity", "price", "ordered_at", "status")
COUNTRIES = ("DE", "KE", "JP", "BR", "FR", "IN", "US")
PRICES = {"notebook": "4.50", "pen": "1.20", "lamp": "39.00", "desk": "249.90", "chair": "119.00"}
STATUSES = ("paid", "shipped", "shipped", "paid", "cancelled", "shipped", "refunded", "paid")
FIRST_ORDER_AT = datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
BETWEEN_ORDERS = timedelta(hours=7, minutes=4)


def sample_orders() -> dict[str, str]:
    """A CSV file a month, by its name, each with a header."""
    files: dict[str, list[str]] = {}
    for ordered_at, row in _orders():
        lines = files.setdefault(f"orders-{ordered_at:%Y-%m}.csv", [",".join(COLUMNS)])
        lines.append(",".join(row))
    return {name: "\n".join(lines) + "\n" for name, lines in files.items()}


def _orders() -> Iterator[tuple[datetime, tuple[str, ...]]]:
    items = tuple(PRICES)
    for number in range(ORDER_COUNT):
        # The steps have no factor in common with the lengths, so every combination comes up.
        item = items[number * 3 % len(items)]
        ordered_at = FIRST_ORDER_AT + number * BETWEEN_ORDERS
        yield (
            ordered_at,
            (
                str(1001 + number),
                f"customer-{number * 37 % 53 + 1:03d}",
                COUNTRIES[number * 5 % len(COUNTRIES)],
                item,
                str(1 + number * 7 % 4),
                PRICES[item],
                f"{ordered_at:%Y-%m-%dT%H:%M:%SZ}",
                STATUSES[number * 5 % len(STATUSES)],
            ),
        )
