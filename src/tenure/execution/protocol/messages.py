"""What worker, zygote and child send each other; `frames` has how it travels.

Descriptors travel beside the frames to the zygote, in the order of the frames.
"""

import math
from datetime import timedelta

import msgspec
from msgspec import Struct

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.retry import OutOfMemory, Raised, Returned
from tenure.core.values.failure import Failure
from tenure.execution.protocol.assignment import Assignment

LARGEST_SPAN = 65_536
"""The most bytes of one span."""

DESCRIPTORS = 3
"""How many descriptors travel with a `Start`: the child's end of the socket, its stdout, its stderr."""

ANEW = "anew"
"""A zygote's last argument if it is to import nothing, and each child imports the app."""

OWN, ANY = "own", "any"
"""A zygote's argument: which processes its children may send signals to, their own or any."""


# From the worker to the zygote.
class Start(Struct, frozen=True, tag=True):
    """Give the next three descriptors to a child, known from now on by this number.

    The zygote kills it at the deadline, as after `Until`. With a `lane` it becomes a runner of that lane.
    """

    number: int
    deadline: float = math.inf
    lane: str = ""


class SendSignal(Struct, frozen=True, tag=True):
    """Send a signal to a child's whole group."""

    number: int
    signal: int


class Until(Struct, frozen=True, tag=True):
    """Kill a child at this time of the monotonic clock, unless another `Until` comes before."""

    number: int
    deadline: float


class Ping(Struct, frozen=True, tag=True):
    """Ask for a sign of life."""


# From the zygote to the worker.
class Pong(Struct, frozen=True, tag=True):
    """The answer to `Ping`."""


class Ready(Struct, frozen=True, tag=True):
    """The app is imported. If it started `threads`, each child imports it anew.

    `has_stop_hooks`: it has something to do at the end of each process that runs its handlers.
    """

    manifest: bytes
    threads: int
    has_stop_hooks: bool = False


class Broken(Struct, frozen=True, tag=True):
    """The app could not be imported."""

    error: Failure


class Exited(Struct, frozen=True, tag=True):
    """A child has ended, and no process that it started is left.

    `expired`: it was killed at its deadline. `litter` is its folder, if that was not empty.
    """

    number: int
    exit_code: int | None
    signal: int | None
    cpu: timedelta
    peak_memory: int
    out_of_memory: bool = False
    expired: bool = False
    litter: str | None = None


class ForkFailed(Struct, frozen=True, tag=True):
    """No process could be started."""

    number: int
    problem: str


# From the worker to a child.
class Begin(Struct, frozen=True, tag=True):
    """Run this attempt; `environment` has the variables that only its definition asks for."""

    assignment: Assignment
    environment: dict[str, str]


class Cancel(Struct, frozen=True, tag=True):
    """The attempt is to stop."""


class SpawnReply(Struct, frozen=True, tag=True):
    """The reply to the `SpawnRequest` of the same number."""

    number: int
    jobs: list[Enqueued]


class ErrorReply(Struct, frozen=True, tag=True):
    """The other reply to either: the name and the arguments of an error; a list is one of texts in pairs."""

    number: int
    kind: str
    arguments: list[str | list[tuple[str, str]]]


class DurableAnswer(Struct, frozen=True, tag=True):
    """The reply to the `DurableQuestion` of the same number: an `Answer` of the module `durable`."""

    number: int
    body: bytes


# From a child to the worker.
class LogMessage(Struct, frozen=True, tag=True):
    """A line of `ctx.log`; `fields` is the JSON text of an object."""

    level: str
    text: str
    fields: str | None = None


class ProgressMessage(Struct, frozen=True, tag=True):
    """How far the handler has come."""

    progress: Progress


class EventMessage(Struct, frozen=True, tag=True):
    """An event of the handler's own; `payload` is JSON text."""

    name: str
    payload: str | None = None


class MetricMessage(Struct, frozen=True, tag=True):
    """Something that the handler measured."""

    what: str
    labels: list[str]
    value: float


class SpanMessage(Struct, frozen=True, tag=True):
    """A span of the handler's that has ended: a `tenure.core.values.span.Span` in MessagePack."""

    span: bytes


class HookFailedMessage(Struct, frozen=True, tag=True):
    """A hook that ran beside the handler failed."""

    hook: str
    error: Failure


class SpawnRequest(Struct, frozen=True, tag=True):
    """Enqueue these as children of the job."""

    number: int
    jobs: list[NewJob]


class DurableQuestion(Struct, frozen=True, tag=True):
    """Ask about the progress of the job, or have some of it kept: a `Question` of the module `durable`."""

    number: int
    body: bytes


class ReportMessage(Struct, frozen=True, tag=True):
    """How the handler ended; nothing after it counts."""

    end: Returned | Raised | OutOfMemory


# From a runner to the worker, beside what any child may send.
class Finished(Struct, frozen=True, tag=True, omit_defaults=True):
    """How an attempt ended, as in `ReportMessage`, and what it used as far as the runner knows.

    `was_asked`: it knew that it was to stop. `is_last`: the runner ends, and with it what is left of the
    attempt. `cpu` is in seconds, `peak_memory` in bytes.
    """

    end: Returned | Raised | OutOfMemory
    cpu: float = 0.0
    peak_memory: int = 0
    was_asked: bool = False
    is_last: bool = False


class OutputMessage(Struct, frozen=True, tag=True):
    """Some output of an attempt that has no pipes of its own; `level` is stdout or stderr."""

    level: str
    text: str


class RunnerRetiring(Struct, frozen=True, tag=True):
    """Another runner should take this one's place: it has grown too large, or has no app."""


ToZygote = Start | SendSignal | Until | Ping
FromZygote = Ready | Broken | Exited | ForkFailed | Pong
ToChild = Begin | Cancel | SpawnReply | DurableAnswer | ErrorReply
FromAnyChild = (
    LogMessage
    | ProgressMessage
    | EventMessage
    | MetricMessage
    | SpanMessage
    | HookFailedMessage
    | SpawnRequest
    | DurableQuestion
)
FromChild = FromAnyChild | ReportMessage
FromRunner = FromAnyChild | Finished | OutputMessage | RunnerRetiring

TO_ZYGOTE = msgspec.msgpack.Decoder(ToZygote)
FROM_ZYGOTE = msgspec.msgpack.Decoder(FromZygote)
TO_CHILD = msgspec.msgpack.Decoder(ToChild)
FROM_CHILD = msgspec.msgpack.Decoder(FromChild)
TO_RUNNER = msgspec.msgpack.Decoder(list[tuple[int, ToChild]])
FROM_RUNNER = msgspec.msgpack.Decoder(list[tuple[int, FromRunner]])
