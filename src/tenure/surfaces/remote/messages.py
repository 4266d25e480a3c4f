"""Server-sent events: messages out of bytes, however these are cut."""

from collections.abc import Iterator
from typing import NamedTuple

LARGEST_MESSAGE = 4 * 2**20
"""Bytes beyond which no message of a Tenure server goes."""


class Message(NamedTuple):
    """A message. Without data it only says how far the stream has come."""

    id: str | None
    data: str | None


class TooLong(Exception):
    """A message that does not come to an end."""


class Messages:
    """Puts the messages of one stream together; what it breaks off in the middle of is none."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[Message]:
        """The messages that end in a piece. Raises TooLong."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        if len(self._rest) > LARGEST_MESSAGE:
            raise TooLong
        for block in blocks:
            if fields := _fields(block.decode(errors="replace")):
                yield Message(fields.get("id"), fields.get("data"))


def _fields(block: str) -> dict[str, str]:
    """The fields of a message; data of several lines are put together, and what nobody needs is left out."""
    found: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in found:
            value = f"{found['data']}\n{value}"
        if name in {"id", "data"}:
            found[name] = value
    return found
