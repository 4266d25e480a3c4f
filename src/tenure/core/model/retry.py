"""What follows from how an attempt ended: the only place that decides on retry, snooze or failure.

An attempt reports its ending as plain data, so that it can come from another process. How many attempts are
left is not known here: the store counts them, and turns `Recoverable` into a failure when they are used up.
"""

import traceback
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import islice

from msgspec import Struct

from tenure.core.errors import (
    Fatal,
    InvalidJson,
    ProcessStartFailed,
    ProgramFailed,
    Retry,
    Snooze,
    TenureError,
)
from tenure.core.model.outcome import Outcome, Recoverable, Stopped, Succeeded, Suspended, Unrecoverable
from tenure.core.model.policy import RetryPolicy
from tenure.core.values.bounds import HORIZON
from tenure.core.values.documents import Document
from tenure.core.values.failure import (
    LONGEST_EXCERPT_FILE,
    LONGEST_EXCERPT_LINE,
    MOST_EXCERPT_LINES,
    MOST_EXCERPTS,
    Excerpt,
    Failure,
)
from tenure.core.values.text import storable

LONGEST_MESSAGE = 8_192
LONGEST_TRACEBACK = 65_536
LAST_LINE = 10_000_000
"""Of a source file; what a process claims to be behind it is a mistake."""

OUT_OF_MEMORY = (
    "the attempt took more memory than it may, or than there was; its definition's memory, or else "
    "TENURE_CHILD_MEMORY_BYTES, says how much an attempt may have"
)

_MOST_DOUBLINGS = 64
_UNKEPT = frozenset({"ResultNotJson", "ResultTooLarge"})
"""Kinds for a result that cannot be kept: another attempt would repeat the work and fail the same way."""
_PLAIN = frozenset(
    {"builtins", TenureError.__module__, "tenure.core.model.aside", "tenure.core.model.step_errors"}
)
"""Modules that a name leaves out: Python's own exceptions, and those that users import from `tenure`."""


class RetryAsked(Struct, frozen=True, tag=True):
    """The handler raised `Retry`; without `after` the policy's backoff applies."""

    after: timedelta | None = None


class SnoozeAsked(Struct, frozen=True, tag=True):
    """The handler raised `Snooze`."""

    for_: timedelta


class FatalAsked(Struct, frozen=True, tag=True):
    """The handler raised `Fatal`, or its program exited with a code that means the same."""


class WaitAsked(Struct, frozen=True, tag=True, omit_defaults=True):
    """The handler waits: for what (a `WaitKind`), under which step, and how long at most."""

    kind: str
    step: str
    signal: str | None = None
    timeout: timedelta | None = None


Asked = RetryAsked | SnoozeAsked | FatalAsked | WaitAsked


class HandlerWaits(BaseException):
    """Ends an attempt whose handler waits for something; no `except Exception` swallows it."""

    def __init__(self, asked: WaitAsked) -> None:
        super().__init__(f"waits for its step {asked.step!r}")
        self.asked = asked


class Returned(Struct, frozen=True, tag=True, gc=False):
    """The handler returned."""

    result: Document


class Raised(Struct, frozen=True, tag=True):
    """The handler raised; `lineage` names the exception's class and its bases, most specific first."""

    error: Failure
    lineage: tuple[str, ...]
    asked: Asked | None = None


class Crashed(Struct, frozen=True, tag=True):
    """The process of the attempt died without a report."""

    error: Failure


class TimedOut(Struct, frozen=True, tag=True):
    """The attempt was stopped at its timeout."""

    after: timedelta


class OutOfMemory(Struct, frozen=True, tag=True):
    """The attempt was killed because it used more memory than it may."""


class WasStopped(Struct, frozen=True, tag=True):
    """The attempt was stopped because its job was cancelled."""


HandlerReport = Returned | Raised | OutOfMemory
"""What a handler's own process reports of its end."""

AttemptEnd = HandlerReport | Crashed | TimedOut | WasStopped


def decide(end: AttemptEnd, attempt: int, policy: RetryPolicy, random: Callable[[], float]) -> Outcome:
    """The outcome for an attempt's ending; a directive of the handler goes before the policy's lists."""
    match end:
        case Returned(result):
            return Succeeded(result)
        case WasStopped():
            return Stopped()
        case Raised(asked=SnoozeAsked(wait)):
            return Suspended(_bounded(wait))
        case Raised(error, asked=RetryAsked(timedelta() as wait)):
            return Recoverable(error, _bounded(wait))
        case Raised(error) if _is_fatal(end, policy):
            return Unrecoverable(error)
        case _:
            return Recoverable(_failure(end), backoff(attempt, policy, random))


def backoff(attempt: int, policy: RetryPolicy, random: Callable[[], float]) -> timedelta:
    """How long to wait after attempt number `attempt` (from 1) failed: min(cap, base * 2^attempt + jitter).

    The jitter is uniform from 0 to `base`; `random` returns a number from 0 up to 1.
    """
    base, cap = policy.base.total_seconds(), policy.cap.total_seconds()
    seconds = base * 2.0 ** min(attempt, _MOST_DOUBLINGS) + base * random()
    return policy.cap if seconds >= cap else timedelta(seconds=seconds)


def describe(error: BaseException) -> Raised:
    """An exception as data that every store accepts and every process can read."""
    if isinstance(error, HandlerWaits | BaseExceptionGroup) and (waits := _waits_in(error)) is not None:
        return Raised(Failure(HandlerWaits.__name__, str(waits)), (HandlerWaits.__name__,), waits.asked)
    names = tuple(qualified_name(kind) for kind in type(error).__mro__ if kind is not object)
    if isinstance(error, ProgramFailed):  # its traceback shows Tenure's own frames only
        return Raised(Failure(error.kinds[0], _head(str(error))), (*error.kinds, *names), _asked(error))
    if isinstance(error, ProcessStartFailed):  # known by its own name, and by those of what was raised
        cause = describe(error.cause)
        failure = failure_of(names[0], str(error), cause.error.traceback)
        return Raised(failure, (names[0], *cause.lineage))
    lines = traceback.format_exception(error)
    failure = failure_of(names[0], _message(error), "".join(lines))
    return Raised(failure, names, _asked(error))


def unkept(error: InvalidJson) -> Raised:
    """The ending of an attempt whose handler returned a result that cannot be kept."""
    kind = unkept_kind(error)
    return Raised(Failure(kind, f"the handler's result: {error}"), (kind,))


def unkept_kind(error: InvalidJson) -> str:
    """The name that a policy's lists use for a result that cannot be kept."""
    return "ResultTooLarge" if error.code == "too-large" else "ResultNotJson"


def failure_of(kind: str, message: str, trace: str | None, source: Iterable[Excerpt] = ()) -> Failure:
    """A failure, cut to the length that is kept."""
    excerpts = tuple(_cut(one) for one in islice(source, MOST_EXCERPTS))
    return Failure(kind, _head(message), None if trace is None else _tail(trace), excerpts)


def qualified_name(kind: type) -> str:
    """The name that a policy's lists use for an exception: `ValueError`, `Fatal`, `package.module.Class`."""
    prefix = "" if kind.__module__ in _PLAIN else f"{kind.__module__}."
    return storable(prefix + kind.__qualname__)


def _is_fatal(end: Raised, policy: RetryPolicy) -> bool:
    if end.asked is not None:
        return isinstance(end.asked, FatalAsked)
    for name in end.lineage:
        if name in policy.fatal_on:
            return True
        if name in policy.retry_on:
            return False
    return bool(policy.retry_on) or not _UNKEPT.isdisjoint(end.lineage[:1])


def _failure(end: Raised | Crashed | TimedOut | OutOfMemory) -> Failure:
    match end:
        case Raised(error) | Crashed(error):
            return error
        case TimedOut(after):
            return Failure("TimedOut", f"the attempt had not ended after {after}")
        case OutOfMemory():
            return Failure("OutOfMemory", OUT_OF_MEMORY)


def _bounded(wait: timedelta) -> timedelta:
    return min(max(wait, timedelta(0)), HORIZON)


def _waits_in(error: BaseException) -> HandlerWaits | None:
    """The wait that ended an attempt, also if it came out of a `TaskGroup` that held nothing else."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return _waits_in(error.exceptions[0])
    return error if isinstance(error, HandlerWaits) else None


def _asked(error: BaseException) -> Asked | None:
    match error:
        case Retry(after=None | timedelta() as after):
            return RetryAsked(after)
        case Snooze(for_=timedelta() as wait):
            return SnoozeAsked(wait)
        case Fatal() | ProgramFailed(is_fatal=True):
            return FatalAsked()
        case _:
            return None


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken __str__ must not hide what went wrong
        return "<the exception's own message cannot be read>"


def _head(text: str) -> str:
    return storable(text).encode()[:LONGEST_MESSAGE].decode(errors="ignore")


def _cut(excerpt: Excerpt) -> Excerpt:
    lines = tuple(storable(line)[:LONGEST_EXCERPT_LINE] for line in excerpt.text[:MOST_EXCERPT_LINES])
    file = storable(excerpt.file)[-LONGEST_EXCERPT_FILE:]
    line, first = (min(max(number, 0), LAST_LINE) for number in (excerpt.line, excerpt.first))
    return Excerpt(file, line, first, lines)


def _tail(text: str) -> str:
    # The end of a traceback says what happened; its beginning is mostly Tenure's own frames.
    return storable(text).encode()[-LONGEST_TRACEBACK:].decode(errors="ignore")
