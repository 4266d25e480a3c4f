"""What an attempt leaves behind beside its outcome: resource usage, log lines, notes.

Log lines and notes come from handlers and may hold any text. The checks here cover what the code around a
handler is responsible for (numbers, times, names); text is taken as it is, and stores replace characters
that they cannot keep.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Lease
from tenure.core.values.bounds import CALENDAR, LARGEST_NUMBER, LONGEST_LINE, named, whole, within
from tenure.core.values.documents import Document

LEVELS = ("debug", "info", "warning", "error", "stdout", "stderr")
"""The levels of a log line: of the handler's logger, or the stream of its output."""

CUSTOM = "custom:"
HOOK_FAILED = "hook_failed"
RESCHEDULED = "rescheduled"
"""A note of the store's own: the job was given another time. It does not count among those of handlers."""

_NO_TIME = timedelta(0)
_MOST_CPU = timedelta(days=365_000)


def is_note(type_of_event: str) -> bool:
    """Whether events of this type are notes, which move no job."""
    return type_of_event in {HOOK_FAILED, RESCHEDULED} or type_of_event.startswith(CUSTOM)


class Usage(Struct, frozen=True, kw_only=True):
    """What the processes of one attempt used, and how the first of them ended.

    Stores keep the CPU time in whole milliseconds. `peak_memory` is in bytes.
    """

    exit_code: int | None = None
    signal: int | None = None
    cpu: timedelta = _NO_TIME
    peak_memory: int = 0

    def __post_init__(self) -> None:
        if self.exit_code is not None:
            whole("exit_code", self.exit_code, -(2**31), 2**31 - 1)
        if self.signal is not None:
            whole("signal", self.signal, 1, 127)
        within("cpu", self.cpu, _NO_TIME, _MOST_CPU)
        whole("peak_memory", self.peak_memory, 0, LARGEST_NUMBER)


class LogLine(Struct, frozen=True):
    """One line of output, or of the handler's logger. `n` counts from 1 within a lease."""

    n: int
    at: datetime
    level: str
    text: str
    fields: Document | None = None

    def __post_init__(self) -> None:
        whole("n", self.n, 1, 2**31 - 1)
        if self.at.utcoffset() is None:
            raise InvalidInput("at", "has no time zone", "give an aware datetime")
        within("at", self.at, *CALENDAR)
        if self.level not in LEVELS:
            raise InvalidInput("level", f"is {self.level!r:.64}", f"give one of {', '.join(LEVELS)}")
        if len(self.text) > LONGEST_LINE:
            raise InvalidInput("text", f"has {len(self.text):,} characters", f"give at most {LONGEST_LINE:,}")


class Note(Struct, frozen=True):
    """A note of an attempt, an event that is not a step: `custom:<name>` from a handler, or `hook_failed`."""

    type: str
    payload: Document | None = None

    def __post_init__(self) -> None:
        if self.type != HOOK_FAILED:
            if not self.type.startswith(CUSTOM):
                raise InvalidInput("type", f"is {self.type!r:.64}", f"give {CUSTOM}<name> or {HOOK_FAILED}")
            named("type", self.type.removeprefix(CUSTOM))


class Trail(Struct, frozen=True):
    """The lines and notes of one attempt since they were last recorded."""

    lease: Lease
    lines: tuple[LogLine, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def parts(self) -> int:
        """The number of lines and notes."""
        return len(self.lines) + len(self.notes)

    @property
    def size(self) -> int:
        """The number of characters in them."""
        lines = sum(len(line.text) + len(line.fields or "") for line in self.lines)
        return lines + sum(len(note.payload or "") for note in self.notes)


class Recorded(Struct, frozen=True):
    """The store's answer to trails: leases that were lost, and leases of jobs that may have no more notes.

    Of those in `locked` nothing was recorded, since another transaction has locked the job: each is to be
    sent again in a call of its own, which waits.
    """

    lost: frozenset[Lease]
    full: frozenset[Lease]
    locked: frozenset[Lease] = frozenset()


class Logged(NamedTuple):
    """A log line read back, with the fence of the attempt that wrote it."""

    fence: int
    line: LogLine
