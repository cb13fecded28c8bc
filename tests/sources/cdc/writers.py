"""Clients that change a table all the while, in every way there is, and a reader in a process of its own."""

from __future__ import annotations

import os
import pickle
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from tests.sources.cdc.helpers import Replica, connector_to

from hakiri.sources.contract import Read

KEYS = 60
BOOKS = "CREATE TABLE books (id int PRIMARY KEY, title text, body text, price numeric(8, 2), at timestamptz)"
LARGE = "repeat(md5(random()::text), 200)"
_CHANGES = (
    "INSERT INTO books VALUES (%(a)s, 'new', " + LARGE + ", 1.25, now()) ON CONFLICT DO NOTHING",
    "INSERT INTO books VALUES (%(b)s, 'small', 'x', NULL, NULL) ON CONFLICT (id) DO UPDATE SET price = 7",
    "UPDATE books SET title = md5(random()::text) WHERE id = %(a)s",  # without its large value
    "UPDATE books SET body = " + LARGE + " WHERE id = %(a)s",
    "UPDATE books SET body = " + LARGE + ", title = 'both' WHERE id BETWEEN %(a)s AND %(a)s + 5",
    "UPDATE books SET id = %(b)s WHERE id = %(a)s",  # may fail, and take its transaction along
    "DELETE FROM books WHERE id = %(a)s",
    "DELETE FROM books WHERE id BETWEEN %(a)s AND %(a)s + 3",
)


def write_until(url: str, seed: int, stop: threading.Event) -> None:
    """Transactions of one to six changes; some are rolled back, and some fail by themselves."""
    dice = random.Random(seed)
    with psycopg.connect(url) as connection:
        while not stop.is_set():
            try:
                for _ in range(dice.randint(1, 6)):
                    connection.execute(
                        dice.choice(_CHANGES).encode(),
                        {"a": dice.randint(1, KEYS), "b": dice.randint(1, KEYS)},
                    )
            except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
                connection.rollback()
                continue
            if dice.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()


@contextmanager
def writers(url: str, count: int, seed: int) -> Iterator[None]:
    """Several at once, until the block ends; what one of them raises is raised here."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            write_until(url, seed + number, stop)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def load(file: Path) -> Replica:
    if not file.exists():
        return Replica("books")
    loaded: Replica = pickle.loads(file.read_bytes())
    return loaded


def save(replica: Replica, file: Path) -> None:
    """Rows and cursor at one moment, as a catalog does it."""
    draft = file.with_suffix(".draft")
    draft.write_bytes(pickle.dumps(replica))
    os.replace(draft, file)


def read_for_ever(url: str, file: Path, started: Path) -> None:
    """Read on and on from what was saved last, and save after every cursor, until somebody ends it."""
    connector_to(url).discover()  # all that has to be loaded is loaded now
    started.touch()
    while True:
        replica = load(file)
        for batch in connector_to(url).open(Read(table="books", cursor=replica.cursor)):
            replica.take(batch)
            if batch.cursor is not None:
                save(replica, file)
