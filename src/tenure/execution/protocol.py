"""What worker, zygote and child say to each other, and how it is framed.

A frame is a length of four bytes, big end first, and that many bytes of MessagePack: one tagged struct. What
comes from a child is not trusted: it is read as one of the structs named here or not at all, within a size,
and never as code. Descriptors travel beside the frames to the zygote, in the order of the frames.

A runner, a child that takes one attempt after another or many at once, is sent and sends batches: a frame
with an array of pairs, an attempt's number and a struct.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Progress
from tenure.core.outcome import Failure
from tenure.core.retry import OutOfMemory, Raised, Returned
from tenure.execution.assignment import Assignment

LARGEST_FRAME = 4 << 20
"""The most bytes that a child may send, or be sent, in one frame."""

LARGEST_MANIFEST = 64 << 20
"""The same for a zygote, whose first frame holds all definitions."""

LARGEST_SPAN = 65_536
"""The most bytes of one span."""

DESCRIPTORS = 3
"""How many descriptors come with a `Start`: the child's end of the socket, its stdout, its stderr."""

ANEW = "anew"
"""A zygote's last argument where it is to import nothing, and to let each child import the app."""

OWN, ANY = "own", "any"
"""A zygote's argument, too: whom its children may send signals, their own processes or anybody."""

_Message = TypeVar("_Message")
_LENGTH = struct.Struct(">I")
HEAD = _LENGTH.size
_BATCH = struct.Struct(">IBI")
_ARRAY = 0xDD
"""MessagePack's mark of an array whose length has four bytes."""


class Garbage(Exception):
    """What arrived is no frame."""


# From the worker to the zygote.
class Start(Struct, frozen=True, tag=True):
    """Give the next three descriptors to a child, known from now on by this number.

    It is killed at the deadline, as after `Until`. With a `lane` it becomes a runner of that lane.
    """

    number: int
    deadline: float = math.inf
    lane: str = ""


class Signal(Struct, frozen=True, tag=True):
    """Send a signal to a child's whole group."""

    number: int
    signal: int


class Until(Struct, frozen=True, tag=True):
    """Kill a child at a time of the monotonic clock, unless another one is named before."""

    number: int
    deadline: float


class Ping(Struct, frozen=True, tag=True):
    """Give a sign of life."""


# From the zygote to the worker.
class Pong(Struct, frozen=True, tag=True):
    """The sign of life that was asked for."""


class Ready(Struct, frozen=True, tag=True):
    """The app was imported. With `threads` it had started some, and each child will import it anew."""

    manifest: bytes
    threads: int


class Broken(Struct, frozen=True, tag=True):
    """The app could not be imported."""

    error: Failure


class Exited(Struct, frozen=True, tag=True):
    """A child has ended and nobody whom it started is left.

    `expired`: it was killed at its deadline. `litter` is a folder that was not empty.
    """

    number: int
    exit_code: int | None
    signal: int | None
    cpu: timedelta
    peak_memory: int
    out_of_memory: bool = False
    expired: bool = False
    litter: str | None = None


class Unborn(Struct, frozen=True, tag=True):
    """No process could be made."""

    number: int
    problem: str


# From the worker to a child.
class Begin(Struct, frozen=True, tag=True):
    """What to do, and the variables that this definition alone is given."""

    assignment: Assignment
    environment: dict[str, str]


class Cancel(Struct, frozen=True, tag=True):
    """Stop, please."""


class Spawned(Struct, frozen=True, tag=True):
    """The answer to `SpawnAsked` with the same number."""

    number: int
    jobs: list[Enqueued]


class Refused(Struct, frozen=True, tag=True):
    """The other answer: the name and the arguments of an error."""

    number: int
    kind: str
    arguments: list[str]


# From a child to the worker.
class Logged(Struct, frozen=True, tag=True):
    """A line of `ctx.log`; `fields` is the JSON text of an object."""

    level: str
    text: str
    fields: str | None = None


class Progressed(Struct, frozen=True, tag=True):
    """How far the handler has come."""

    progress: Progress


class Emitted(Struct, frozen=True, tag=True):
    """An event of the handler's own; `payload` is JSON text."""

    name: str
    payload: str | None = None


class Measured(Struct, frozen=True, tag=True):
    """Something that the handler has measured."""

    what: str
    labels: list[str]
    value: float


class SpanEnded(Struct, frozen=True, tag=True):
    """A span that the handler has made is over: a `tenure.core.span.Span` in MessagePack."""

    span: bytes


class HookFailed(Struct, frozen=True, tag=True):
    """A hook that ran beside the handler has failed."""

    hook: str
    error: Failure


class SpawnAsked(Struct, frozen=True, tag=True):
    """Enqueue these as children of the job."""

    number: int
    jobs: list[NewJob]


class Reported(Struct, frozen=True, tag=True):
    """How the handler ended, in its own words; nothing after it counts."""

    end: Returned | Raised | OutOfMemory


# From a runner to the worker, beside what any child may say.
class Finished(Struct, frozen=True, tag=True, omit_defaults=True):
    """An attempt's last word, as `Reported`, and what it has used as far as the runner can tell.

    `was_asked`: it knew by then that it was to stop. `is_last`: the runner ends, and takes with it what is
    left of the attempt. `cpu` is in seconds, `peak_memory` in bytes.
    """

    end: Returned | Raised | OutOfMemory
    cpu: float = 0.0
    peak_memory: int = 0
    was_asked: bool = False
    is_last: bool = False


class Printed(Struct, frozen=True, tag=True):
    """Some output of an attempt that has no pipes of its own; `level` is stdout or stderr."""

    level: str
    text: str


class Spent(Struct, frozen=True, tag=True):
    """Another runner should take this one's place: it has taken too much memory, or has no app."""


ToZygote = Start | Signal | Until | Ping
FromZygote = Ready | Broken | Exited | Unborn | Pong
ToChild = Begin | Cancel | Spawned | Refused
Said = Logged | Progressed | Emitted | Measured | SpanEnded | HookFailed | SpawnAsked
FromChild = Said | Reported
FromRunner = Said | Finished | Printed | Spent

TO_ZYGOTE = msgspec.msgpack.Decoder(ToZygote)
FROM_ZYGOTE = msgspec.msgpack.Decoder(FromZygote)
TO_CHILD = msgspec.msgpack.Decoder(ToChild)
FROM_CHILD = msgspec.msgpack.Decoder(FromChild)
TO_RUNNER = msgspec.msgpack.Decoder(list[tuple[int, ToChild]])
FROM_RUNNER = msgspec.msgpack.Decoder(list[tuple[int, FromRunner]])

_ENCODER = msgspec.msgpack.Encoder()


def frame(message: ToZygote | FromZygote | ToChild | FromChild, limit: int = LARGEST_FRAME) -> bytes:
    """A message as it travels."""
    body = _ENCODER.encode(message)
    length(_LENGTH.pack(len(body)), limit)
    return _LENGTH.pack(len(body)) + body


def item(number: int, message: ToChild | FromRunner) -> bytes:
    """A message of one attempt, as it stands in a batch; raises `Garbage` when it is too large for one."""
    body = _ENCODER.encode((number, message))
    if len(body) > LARGEST_FRAME - _BATCH.size:
        raise Garbage(f"a frame of {len(body):,} bytes; at most {LARGEST_FRAME:,} are taken")
    return body


def batch(items: Sequence[bytes]) -> bytes:
    """Items as they travel: in one frame if there is room in it, or else each in its own."""
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
    """The message in a frame's body; raises `Garbage` when it is none of those expected."""
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
