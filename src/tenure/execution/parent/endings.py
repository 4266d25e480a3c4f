"""How an attempt ended, by what its child sent, what the zygote saw, and what the worker did to it."""

import signal
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from tenure.core.model.retry import (
    AttemptEnd,
    Crashed,
    FatalAsked,
    HandlerReport,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
    WasStopped,
)
from tenure.core.model.trail import Usage
from tenure.core.values.failure import Failure
from tenure.execution.parent.attempt_terms import Ended, Interrupted, StopReason, Unstarted
from tenure.execution.parent.zygote_client import ChildExit, ZygoteLost
from tenure.execution.protocol.limits import ENDED_BY
from tenure.execution.protocol.messages import Exited, ForkFailed

ZYGOTE_DIED = Failure(
    "ZygoteDied", "the process from which attempts are forked has died or was stuck, and the attempt with it"
)


@dataclass(frozen=True)
class Collateral:
    """Killed together with others; whether this attempt caused it cannot be known."""

    error: Failure


class MessagesSeen(Protocol):
    """Messages of an attempt that show how it ended."""

    report: HandlerReport | None
    garbage: str | None
    """What it sent instead of a message."""
    is_unread: bool
    """It had not even read its assignment."""


@dataclass(slots=True)
class StopLog:
    """What the worker did to an attempt."""

    timed_out: timedelta | None = None
    is_cancelled: bool = False
    dropped: StopReason | None = None
    """Killed because its outcome is no longer wanted."""
    has_lingered: bool = False
    """Killed because it lived on without its socket, or after its report."""

    def record(self, reason: StopReason | None, timeout: timedelta) -> None:
        """Note why the attempt is stopped: without a reason, its `timeout` has passed."""
        if reason is None:
            self.timed_out = timeout
        elif reason is StopReason.CANCELLED:
            self.is_cancelled = True
        else:
            self.dropped = reason


def classify_ending(
    stop_log: StopLog, messages: MessagesSeen, ending: ChildExit | Collateral
) -> AttemptEnd | Unstarted | Interrupted | None:
    """Classify the ending. None if the lease is lost: the outcome must be discarded."""
    if stop_log.dropped is StopReason.LOST or (isinstance(ending, Exited) and ending.expired):
        return None
    if stop_log.dropped is StopReason.SHUTDOWN and messages.report is None:
        return None
    if stop_log.timed_out is not None:
        return TimedOut(stop_log.timed_out)
    if stop_log.is_cancelled:
        match messages.report:
            case Returned() | Raised(asked=FatalAsked()):
                return messages.report
        return WasStopped()
    if messages.report is not None:
        return messages.report
    if messages.garbage is not None:
        return Crashed(Failure("GarbageOnPipe", f"the process sent {messages.garbage}"))
    return _crash(stop_log, messages, ending)


def usage_of(ending: ChildExit | Collateral) -> Usage:
    """What the attempt's processes used, as far as known."""
    if not isinstance(ending, Exited):
        return Usage()
    return Usage(
        exit_code=ending.exit_code, signal=ending.signal, cpu=ending.cpu, peak_memory=ending.peak_memory
    )


def without_pipes(error: OSError) -> Ended:
    """The end of an attempt for which descriptors had run out."""
    return Ended(Unstarted(Failure("NotStarted", f"no pipes could be made for it: {error}")), Usage())


def _crash(
    stop_log: StopLog, messages: MessagesSeen, ending: ChildExit | Collateral
) -> AttemptEnd | Unstarted | Interrupted:
    match ending:
        case Collateral(error):
            return Interrupted(error)
        case ZygoteLost(is_alone):
            if messages.is_unread:
                return Unstarted(ZYGOTE_DIED)
            return Crashed(ZYGOTE_DIED) if is_alone else Interrupted(ZYGOTE_DIED)
        case ForkFailed(problem=problem):
            return Unstarted(Failure("NotStarted", f"no process could be made for it: {problem}"))
        case Exited(out_of_memory=True):
            return OutOfMemory()
        case Exited(signal=signal.SIGKILL) if stop_log.has_lingered:
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
