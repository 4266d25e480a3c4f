"""How messages travel between worker, zygote and child.

A frame is a length of four bytes, big end first, and that many bytes of MessagePack: one tagged struct of
`messages`. What a child sends is not trusted: it is decoded as one of the structs that are expected, within a
size, or not at all, and never as code.

To and from a runner, which takes one attempt after another or many at once, batches travel: a frame with an
array of pairs, the number of an attempt and a struct.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from tenure.execution.protocol.messages import FromChild, FromRunner, FromZygote, ToChild, ToZygote

LARGEST_FRAME = 4 << 20
"""The most bytes that a child may send, or be sent, in one frame."""

LARGEST_MANIFEST = 64 << 20
"""The same for a zygote, whose first frame holds all definitions."""

_Message = TypeVar("_Message")
_LENGTH = struct.Struct(">I")
HEAD = _LENGTH.size
_BATCH = struct.Struct(">IBI")
_ARRAY = 0xDD
"""MessagePack's mark of an array whose length has four bytes."""

_ENCODER = msgspec.msgpack.Encoder()


class Garbage(Exception):
    """What arrived is not a frame, or not a message that is expected."""


def frame(message: ToZygote | FromZygote | ToChild | FromChild, limit: int = LARGEST_FRAME) -> bytes:
    """A message as it travels; raises `Garbage` when it is too large."""
    body = _ENCODER.encode(message)
    length(_LENGTH.pack(len(body)), limit)
    return _LENGTH.pack(len(body)) + body


def item(number: int, message: ToChild | FromRunner) -> bytes:
    """A message of one attempt, as a part of a batch; raises `Garbage` when it is too large for one."""
    body = _ENCODER.encode((number, message))
    if len(body) > LARGEST_FRAME - _BATCH.size:
        raise Garbage(f"a frame of {len(body):,} bytes; at most {LARGEST_FRAME:,} are taken")
    return body


def batch(items: Sequence[bytes]) -> bytes:
    """Items as they travel: in one frame if they fit, or else each in its own."""
    size = sum(map(len, items)) + _BATCH.size - HEAD
    if size > LARGEST_FRAME:
        return b"".join(batch([one]) for one in items)
    return _BATCH.pack(size, _ARRAY, len(items)) + b"".join(items)


def length(head: bytes, limit: int = LARGEST_FRAME) -> int:
    """How many bytes follow this head; raises `Garbage` when they are too many."""
    size: int = _LENGTH.unpack(head)[0]
    if size > limit:
        raise Garbage(f"a frame of {size:,} bytes; at most {limit:,} are taken")
    return size


def read(decoder: msgspec.msgpack.Decoder[_Message], body: bytes) -> _Message:
    """The message in a frame's body; raises `Garbage` when it is not one that the decoder expects."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Garbage(f"a frame that cannot be read: {error!s:.200}") from None


class Frames:
    """Cuts a stream of bytes into the bodies of frames; holds at most one unfinished frame."""

    def __init__(self, limit: int = LARGEST_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are complete with this data; raises `Garbage` at a frame that is too large."""
        self._buffer += data
        while len(self._buffer) >= HEAD:
            end = HEAD + length(bytes(self._buffer[:HEAD]), self._limit)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEAD:end])
            del self._buffer[:end]
            yield body
