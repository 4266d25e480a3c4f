"""What the services of the agent have in their books."""

from typing import NamedTuple

from examples.agent import tools


class Request(NamedTuple):
    """A request of a service that knows keys."""

    key: str
    tool: str
    tries: int


class Payment(NamedTuple):
    """A payment at the bank, which knows none."""

    number: int
    booking: str
    amount: int


def requests() -> list[Request]:
    """All requests, each once."""
    with tools.books() as db:
        return [Request(*row) for row in db.execute("SELECT key, tool, tries FROM request ORDER BY key")]


def payments() -> list[Payment]:
    """All payments."""
    with tools.books() as db:
        return [Payment(*row) for row in db.execute("SELECT number, booking, amount FROM payment")]
