"""The tools, and the world that they act on: services of others, whose books are one SQLite file here.

Most services take a key with each request and do nothing twice under the same one. The bank does not.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

BOOKS = "AGENT_BOOKS"
"""The variable that names the file of these books."""

PAUSE = "AGENT_PAUSE"
"""The variable that says for how many seconds each service thinks before it answers."""

_TABLES = """
CREATE TABLE IF NOT EXISTS request (
    key TEXT PRIMARY KEY, tool TEXT NOT NULL, arguments TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS payment (
    number INTEGER PRIMARY KEY, booking TEXT NOT NULL, amount INTEGER NOT NULL
);
"""


def find_train(arguments: dict[str, Any], key: str) -> dict[str, Any]:
    """Look for a train."""
    _enter("find_train", arguments, key)
    return _answer({"train": f"{arguments['town']} express", "price": 40 * arguments["people"]})


def find_room(arguments: dict[str, Any], key: str) -> dict[str, Any]:
    """Look for a room."""
    _enter("find_room", arguments, key)
    return _answer({"room": f"Hotel {arguments['town']}", "price": 90})


def book(arguments: dict[str, Any], key: str) -> dict[str, Any]:
    """Book the trip."""
    _enter("book", arguments, key)
    return _answer({"booking": f"B-{key[:8]}"})


def send_mail(arguments: dict[str, Any], key: str) -> dict[str, Any]:
    """Send the traveller a mail."""
    _enter("send_mail", arguments, key)
    return _answer({"sent": True})


def pay(arguments: dict[str, Any]) -> dict[str, Any]:
    """Pay. The bank takes the money each time it is asked to."""
    with books() as db:
        values = arguments["booking"], arguments["amount"]
        number = db.execute("INSERT INTO payment (booking, amount) VALUES (?, ?)", values).lastrowid
    return _answer({"receipt": f"receipt {number}"})


BY_KEY: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "find_train": find_train,
    "find_room": find_room,
    "book": book,
    "send_mail": send_mail,
}
"""Tools that know a request by its key: to call one again under the same key does no harm."""

UNKEYED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"pay": pay}
"""Tools that do it again."""


@contextmanager
def books() -> Iterator[sqlite3.Connection]:
    """The books of the services, in a transaction."""
    db = sqlite3.connect(os.environ.get(BOOKS, "books.db"), timeout=30)
    try:
        db.executescript(_TABLES)
        with db:
            yield db
    finally:
        db.close()


def _enter(tool: str, arguments: dict[str, Any], key: str) -> None:
    with books() as db:
        db.execute(
            "INSERT INTO request (key, tool, arguments) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET tries = tries + 1",
            (key, tool, json.dumps(arguments)),
        )


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Answer after a pause: it is done, and whoever has asked does not know that yet."""
    time.sleep(float(os.environ.get(PAUSE, "0.2")))
    return answer
