"""What a message broker has to do: send, receive, acknowledge; hide what is worked on, and say what waits.

To use another broker, write a class with these verbs and open it in `assemble/messages.py`. It may lose
messages, deliver them twice, late or in any order: the store decides what is claimed.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from tenure.core.errors import TenureError

MOST_AT_ONCE = 10
"""How many messages one call may send or receive; SQS allows no more."""


class TransportFailed(TenureError):
    """The broker did not do what was asked of it; it may do so later."""


class Received(Struct, frozen=True):
    """A message, and the receipt by which this delivery of it is acknowledged."""

    body: bytes
    receipt: str
    age: float | None = None
    """Seconds since it was sent, if the broker says when that was."""


class Backlog(Struct, frozen=True):
    """How many messages wait in the broker, and how many are hidden as workers have them."""

    waiting: int
    hidden: int


class Transport(Protocol):
    """A queue of a message broker. Every verb raises TransportFailed where the broker fails."""

    async def send(self, bodies: Sequence[bytes]) -> Collection[int]:
        """Send up to ten messages; returns the places of those that the broker has not taken, if any."""

    async def receive(self, most: int, *, wait: float, hide_for: float) -> list[Received]:
        """Take up to `most` messages, waiting for the first up to `wait` seconds.

        They are hidden from others for so long, and come again unless they are acknowledged.
        """

    async def acknowledge(self, receipts: Sequence[str]) -> None:
        """Remove messages for good. A receipt that has expired does no harm."""

    async def hide(self, receipts: Sequence[str], seconds: float) -> None:
        """Hide messages for so many seconds from now; with 0 they may be received at once."""

    async def backlog(self) -> Backlog:
        """What waits in the queue, as far as the broker knows."""
