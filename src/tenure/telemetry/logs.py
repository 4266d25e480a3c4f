"""What a process says of its work, as entries: a level, the name of an event, and fields.

It hears the same signals as the metrics do. Names and fields are an interface: others search for them. An
entry holds nothing of a job's params or result, and whatever else it holds is bounded, since entries may have
to wait. What may say a secret, `reason` and `error`, is for the form to show as far as it may be shown.
"""

import time
import traceback
from collections.abc import Callable
from logging import ERROR, LogRecord
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.aside import Aside
from tenure.core.job import Lapsed, Moved
from tenure.core.lease import Claimed
from tenure.core.outcome import ENDING_OF, Ending, Recoverable, Suspended, Unrecoverable
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    DutyDone,
    HookFailed,
    JobPutAside,
    Measured,
    Recovered,
    Signal,
    Troubled,
    WorkerDraining,
    WorkerReady,
    WorkerStopped,
)
from tenure.core.states import State
from tenure.core.traceparent import trace_of

LEVELS = ("debug", "info", "warning", "error")

MOST_JOBS = 50
"""How many ids one entry names."""

LONGEST_ERROR = 16_384
"""Characters of a traceback, whose end says what happened, or of what a library says."""

QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/metrics/worker"})
"""Routes that are asked for all the time, by programs."""

_LEVEL_OF = {State.RETRYING: "warning", State.FAILED: "error", State.BURIED: "error"}


class Entry(NamedTuple):
    """One thing to say; `at` is in seconds since the epoch."""

    at: float
    level: str
    event: str
    fields: dict[str, Any]


class Logs:
    """Hears signals, and whatever else is worth a line; puts down entries of one level and above."""

    def __init__(self, put: Callable[[Entry], None], level: str = "info") -> None:
        self._put = put
        self._levels = frozenset(LEVELS[LEVELS.index(level) :])
        self._worker: str | None = None

    def __call__(self, signal: Signal) -> None:
        """Put down what a signal says; called twice for every attempt."""
        kind = type(signal)
        if kind is AttemptSettled:
            self._settled(signal)  # type: ignore[arg-type]
        elif kind is AttemptStarted:
            if self._has("debug"):
                claimed: Claimed = signal.claimed  # type: ignore[assignment, union-attr]
                self._say("debug", "attempt.started", self._of_job(claimed))
        elif kind is not Measured:
            self._seldom(signal)

    def notice(self, text: str) -> None:
        """Say something to people, whatever the level."""
        self._put(Entry(time.time(), "info", "notice", {"message": text}))

    def answered(
        self, request: UUID, method: str, route: str, status: int, seconds: float, key: str | None
    ) -> None:
        """A request has its answer; `key` is the id of the one that it was made with."""
        level = _level_of_answer(route, status)
        if not self._has(level):
            return
        fields = {"requestId": request, "method": method, "route": route, "status": status}
        self._say(level, "request.answered", {**fields, "durationSeconds": round(seconds, 6), "key": key})

    def failed(self, request: UUID, error: Exception) -> None:
        """A request could not be answered as it should, by a bug."""
        reason = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        trace = "".join(traceback.format_exception(error))
        self._say("error", "request.failed", {"requestId": request, "reason": reason, **_in_full(trace)})

    def output(self, line: bytes) -> None:
        """Somebody who shares our standard error has written a line to it."""
        self._say("info", "output", {"message": line.decode(errors="backslashreplace")})

    def library(self, record: LogRecord) -> None:
        """Something that a library has logged."""
        trace = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
        fields = {"logger": record.name, "reason": record.getMessage()[:LONGEST_ERROR], **_in_full(trace)}
        self._say("error" if record.levelno >= ERROR else "warning", "library", fields)

    def _has(self, level: str) -> bool:
        return level in self._levels

    def _say(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if self._has(level):
            self._put(Entry(time.time(), level, event, fields))

    def _of_job(self, claimed: Claimed) -> dict[str, Any]:
        return {
            "jobId": claimed.lease.job,
            "definition": claimed.definition,
            "version": claimed.version,
            "queue": claimed.queue,
            "attempt": claimed.attempt,
            "worker": self._worker,
            "traceId": trace_of(claimed.lease.job, claimed.traceparent),
        }

    def _settled(self, signal: AttemptSettled) -> None:
        level = _LEVEL_OF.get(signal.state, "info")
        if not self._has(level):
            return
        claimed, outcome, usage = signal.claimed, signal.report.outcome, signal.report.usage
        fields = self._of_job(claimed)
        fields["state"] = signal.state
        fields["outcome"] = ENDING_OF[type(outcome)]
        fields["durationSeconds"] = round(signal.took, 6)
        fields["retries"] = claimed.attempt - 1
        fields["maxAttempts"] = claimed.policy.max_attempts
        if isinstance(outcome, Recoverable | Unrecoverable):
            fields["reason"] = f"{outcome.error.kind}: {outcome.error.message}"
        if isinstance(outcome, Recoverable | Suspended) and not signal.state.is_final:
            fields["againInSeconds"] = round(outcome.after.total_seconds(), 3)
        if usage is not None:
            fields["cpuSeconds"] = usage.cpu.total_seconds()
            fields["peakMemoryBytes"] = usage.peak_memory
            fields["exitCode"] = usage.exit_code
            fields["signal"] = usage.signal
        self._put(Entry(time.time(), level, "attempt.settled", fields))

    def _seldom(self, signal: Signal) -> None:
        match signal:
            case AttemptHandedBack(claimed, state, has_begun, took, reason):
                fields = {
                    **self._of_job(claimed),
                    "state": state,
                    "outcome": Ending.KILLED if has_begun else Ending.HANDED_BACK,
                    **_course(took, claimed.attempt, claimed.policy.max_attempts, reason),
                }
                self._say(_LEVEL_OF.get(state, "info"), "attempt.handed_back", fields)
            case AttemptLost(claimed, fenced, took, aside):
                gone = "it was put aside with its job" if aside else "its lease was gone"
                reason = "we could not keep its lease" if fenced else gone
                course = _course(took, claimed.attempt, claimed.policy.max_attempts, reason)
                fields = {**self._of_job(claimed), "outcome": Ending.LOST, **course}
                self._say("warning", "attempt.lost", fields)
            case JobPutAside(aside):
                self._say("error", "job.put_aside", self._of_aside(aside))
            case HookFailed(job, hook, error, known):
                of_job = {"jobId": job} if known is None else self._of_job(known)
                self._say("warning", "hook.failed", {**of_job, "hook": hook, "reason": error})
            case DutyDone(duty, moved):
                level, event = ("warning", "jobs.reaped") if duty == "reap" else ("debug", "jobs.promoted")
                jobs = [one.job for one in moved[:MOST_JOBS]]
                self._say(level, event, {"count": len(moved), "jobs": jobs, "worker": self._worker})
                for one in moved:
                    if one.lapsed is not None:
                        self._reaped(one, one.lapsed)
            case Troubled(loop, error, failures):
                *before, reason = error.strip().splitlines() or [""]
                fields = {"loop": loop, "reason": reason, "failures": failures, "worker": self._worker}
                self._say("warning", "loop.failed", {**fields, **_in_full(error if before else "")})
            case Recovered(loop):
                self._say("info", "loop.recovered", {"loop": loop, "worker": self._worker})
            case _:
                self._of_worker(signal)

    def _of_aside(self, aside: Aside) -> dict[str, Any]:
        line = aside.line
        return {
            "jobId": aside.job,
            "definition": line.definition,
            "version": line.version,
            "queue": line.queue,
            "verb": str(aside.verb),
            "state": aside.state,
            "reason": aside.why,
            "worker": self._worker,
        }

    def _reaped(self, moved: Moved, lapsed: Lapsed) -> None:
        held_for = lapsed.held_for.total_seconds()
        fields = {
            "jobId": moved.job,
            "definition": lapsed.definition,
            "version": lapsed.version,
            "queue": lapsed.queue,
            "attempt": lapsed.attempt,
            "worker": lapsed.worker,
            "traceId": trace_of(moved.job, lapsed.traceparent),
            "state": moved.target,
            "outcome": Ending.LOST,
            **_course(held_for, lapsed.attempt, lapsed.max_attempts, "WorkerLost: the lease ran out"),
        }
        self._say(_LEVEL_OF.get(moved.target, "warning"), "attempt.reaped", fields)

    def _of_worker(self, signal: Signal) -> None:
        match signal:
            case WorkerReady(worker):
                self._worker = worker.id
                fields = {"slots": worker.slots, "lines": len(worker.lines), "version": worker.version}
                self._say("info", "worker.ready", {"worker": worker.id, **fields})
            case WorkerDraining(name, running, reason):
                self._say("info", "worker.draining", {"worker": name, "running": running, "reason": reason})
            case WorkerStopped(name, handed_back, abandoned):
                fields = {"worker": name, "handedBack": handed_back, "abandoned": abandoned}
                self._say("warning" if abandoned else "info", "worker.stopped", fields)


def _course(took: float, attempt: int, max_attempts: int, reason: str) -> dict[str, Any]:
    """How long an attempt without an outcome took, what was before it, and why it ended."""
    return {
        "durationSeconds": round(took, 6),
        "retries": max(attempt - 1, 0),
        "maxAttempts": max_attempts,
        "reason": reason,
    }


def _level_of_answer(route: str, status: int) -> str:
    if status == 500:
        return "error"
    if route in QUIET or status < 400:
        return "debug"
    return "warning" if status > 500 or status in {401, 403, 429} else "info"


def _in_full(error: str) -> dict[str, str]:
    """The end of a traceback, from the beginning of a line: half a line may be a secret without its name."""
    error = error.strip()
    if len(error) > LONGEST_ERROR:
        error = error[-LONGEST_ERROR:].partition("\n")[2]
    return {"error": error} if error else {}
