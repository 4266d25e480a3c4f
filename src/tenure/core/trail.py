"""What an attempt leaves behind beside its outcome: what its processes used, what it wrote, what it told.

Log lines and notes come from handlers, which may say anything. A value here is checked for what the code
around a handler answers for (numbers, times, names); text is taken as it is, and stores replace what they
cannot keep.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.core.bounds import CALENDAR, LARGEST_NUMBER, LONGEST_LINE, named, whole, within
from tenure.core.documents import Document
from tenure.core.errors import InvalidInput
from tenure.core.lease import Lease

LEVELS = ("debug", "info", "warning", "error", "stdout", "stderr")
"""What a log line may be: one of the handler's logger, or a line of its output."""

CUSTOM = "custom:"
HOOK_FAILED = "hook_failed"

_NO_TIME = timedelta(0)
_MOST_CPU = timedelta(days=365_000)


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
    """One line of output, or of the handler's logger. `n` counts from 1 within one lease."""

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
    """An event that is no step: `custom:<name>` as the handler says, or `hook_failed`."""

    type: str
    payload: Document | None = None

    def __post_init__(self) -> None:
        if self.type != HOOK_FAILED:
            if not self.type.startswith(CUSTOM):
                raise InvalidInput("type", f"is {self.type!r:.64}", f"give {CUSTOM}<name> or {HOOK_FAILED}")
            named("type", self.type.removeprefix(CUSTOM))


class Trail(Struct, frozen=True):
    """What one attempt has said since it was last recorded."""

    lease: Lease
    lines: tuple[LogLine, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def parts(self) -> int:
        """How many lines and notes it has."""
        return len(self.lines) + len(self.notes)

    @property
    def size(self) -> int:
        """How many characters they have."""
        lines = sum(len(line.text) + len(line.fields or "") for line in self.lines)
        return lines + sum(len(note.payload or "") for note in self.notes)


class Recorded(Struct, frozen=True):
    """The store's answer to trails: whose leases were lost, and whose jobs have all the notes they may."""

    lost: frozenset[Lease]
    full: frozenset[Lease]


class Logged(NamedTuple):
    """A log line as it is read back, with the fence of the attempt that wrote it."""

    fence: int
    line: LogLine
