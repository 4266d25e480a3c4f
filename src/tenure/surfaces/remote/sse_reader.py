"""Reads server-sent events from pieces of bytes, wherever these are cut."""

from collections.abc import Iterator
from typing import NamedTuple

LARGEST_MESSAGE = 4 * 2**20
"""Bytes; no message of a Tenure server is larger."""


class SseMessage(NamedTuple):
    """A message. Without data it only moves the position in the stream."""

    id: str | None
    data: str | None


class TooLong(Exception):
    """A message that is larger than any of a Tenure server."""


class SseReader:
    """Assembles the messages of one stream; an incomplete one at its end is dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[SseMessage]:
        """The messages that end in a piece. Raises TooLong."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        if len(self._rest) > LARGEST_MESSAGE:
            raise TooLong
        for block in blocks:
            if fields := _fields(block.decode(errors="replace")):
                yield SseMessage(fields.get("id"), fields.get("data"))


def _fields(block: str) -> dict[str, str]:
    """The fields `id` and `data` of a message; several lines of data are joined."""
    found: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in found:
            value = f"{found['data']}\n{value}"
        if name in {"id", "data"}:
            found[name] = value
    return found
