"""The name of an attempt's ending, from what its child said, what the zygote saw, and what we did to it."""

import signal
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from tenure.core.outcome import Failure
from tenure.core.retry import (
    AttemptEnd,
    Crashed,
    FatalAsked,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
    WasStopped,
)
from tenure.core.trail import Usage
from tenure.execution.conversation import Report
from tenure.execution.halting import Halt, Interrupted, Unstarted
from tenure.execution.limits import ENDED_BY
from tenure.execution.nursery import Ending, Lost
from tenure.execution.protocol import Exited, Unborn

ZYGOTE_DIED = Failure(
    "ZygoteDied", "the process from which attempts are forked has died or was stuck, and the attempt with it"
)


@dataclass(frozen=True)
class Swept:
    """Killed together with others, by something that nobody can lay at this attempt's door."""

    error: Failure


class Said(Protocol):
    """What an attempt has said that tells how it ended."""

    report: Report | None
    garbage: str | None
    """What it sent instead of a message."""
    is_unread: bool
    """It had not even read what it was there for."""


@dataclass(slots=True)
class Course:
    """What the worker did to an attempt."""

    timed_out: timedelta | None = None
    is_cancelled: bool = False
    dropped: Halt | None = None
    """Killed because nobody wants its outcome any more."""
    has_lingered: bool = False
    """Killed because it lived on without its socket, or after its report."""


def name(course: Course, said: Said, ending: Ending | Swept) -> AttemptEnd | Unstarted | Interrupted | None:
    """How the attempt ended; None where nobody wants to know, as its lease is gone or as good as gone."""
    if course.dropped is Halt.LOST or (isinstance(ending, Exited) and ending.expired):
        return None
    if course.dropped is Halt.SHUTDOWN and said.report is None:
        return None
    if course.timed_out is not None:
        return TimedOut(course.timed_out)
    if course.is_cancelled:
        match said.report:
            case Returned() | Raised(asked=FatalAsked()):
                return said.report
        return WasStopped()
    if said.report is not None:
        return said.report
    if said.garbage is not None:
        return Crashed(Failure("GarbageOnPipe", f"the process sent {said.garbage}"))
    return _crash(course, said, ending)


def usage_of(ending: Ending | Swept) -> Usage:
    """What the attempt's processes used, as far as it is known."""
    if not isinstance(ending, Exited):
        return Usage()
    return Usage(
        exit_code=ending.exit_code, signal=ending.signal, cpu=ending.cpu, peak_memory=ending.peak_memory
    )


def _crash(course: Course, said: Said, ending: Ending | Swept) -> AttemptEnd | Unstarted | Interrupted:
    match ending:
        case Swept(error):
            return Interrupted(error)
        case Lost(is_alone):
            if said.is_unread:
                return Unstarted(ZYGOTE_DIED)
            return Crashed(ZYGOTE_DIED) if is_alone else Interrupted(ZYGOTE_DIED)
        case Unborn(problem=problem):
            return Unstarted(Failure("NotStarted", f"no process could be made for it: {problem}"))
        case Exited(out_of_memory=True):
            return OutOfMemory()
        case Exited(signal=signal.SIGKILL) if course.has_lingered:
            return Crashed(Failure("PipeClosed", "the process closed its pipe before it had reported"))
        case Exited(signal=int() as number):
            return Crashed(Failure("KilledBySignal", f"the process was killed by {_signal_name(number)}"))
        case Exited(exit_code=code):
            message = f"the process exited with code {code} and reported no result"
            return Crashed(Failure("ExitedWithoutResult", message))


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number}){ENDED_BY.get(signal.Signals(number), '')}"
    except ValueError:
        return f"signal {number}"
