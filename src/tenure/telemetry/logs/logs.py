"""The log of a process, as entries: a level, the name of an event, and fields.

It gets the same signals as the metrics. Names and fields are an interface: users search for them. An entry
holds nothing of a job's params or result, and its size is bounded, since entries may have to wait. The format
redacts `reason` and `error`, which may hold a secret.
"""

import time
import traceback
from collections import Counter
from collections.abc import Callable
from logging import ERROR, LogRecord
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.model.aside import Aside
from tenure.core.model.job import LapsedAttempt, StepTaken
from tenure.core.model.lease import Claimed
from tenure.core.model.outcome import ENDING_OF, Ending, Recoverable, Succeeded, Suspended, Unrecoverable
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine
from tenure.core.schedule.schedule import TickOutcome
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    ConnectionsFreed,
    ConnectionsShort,
    DutyDone,
    HookFailed,
    JobPutAside,
    Measured,
    Recovered,
    ScheduleLeftAlone,
    ScheduleTicked,
    Signal,
    Troubled,
    WebhookPaused,
    WorkerDraining,
    WorkerHalting,
    WorkerReady,
    WorkerStopped,
)
from tenure.core.values.traceparent import trace_of
from tenure.execution.protocol.assignment import Assignment
from tenure.telemetry.logs.message_entries import SPOKEN_OF, message_entry

LEVELS = ("debug", "info", "warning", "error")

MOST_JOBS_NAMED = 50
"""How many job ids one entry lists."""

LONGEST_ERROR = 16_384
"""The most characters of a traceback, of which the end is kept, or of a library's message."""

QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/metrics/worker"})
"""Routes that programs request all the time."""

_LEVEL_OF = {State.RETRYING: "warning", State.FAILED: "error", State.BURIED: "error"}
_FAILED_TICKS = frozenset({TickOutcome.FAILED, TickOutcome.FULL})


class LogEntry(NamedTuple):
    """One entry; `at` is in seconds since the epoch."""

    at: float
    level: str
    event: str
    fields: dict[str, Any]


class EventLog:
    """Makes entries of signals, requests and output; keeps those of one level and above."""

    def __init__(
        self,
        put: Callable[[LogEntry], None],
        level: str = "info",
        put_line: Callable[[LogEntry], None] | None = None,
    ) -> None:
        """`put_line` takes lines of jobs, if not `put`: a flood of them must not displace other entries."""
        self._put = put
        self._put_line = put_line or put
        self._levels = frozenset(LEVELS[LEVELS.index(level) :])
        self._worker: str | None = None

    def __call__(self, signal: Signal) -> None:
        """Log a signal; called twice for every attempt."""
        kind = type(signal)
        if kind is AttemptSettled:
            self._on_settled(signal)  # type: ignore[arg-type]
        elif kind is AttemptStarted:
            if self._has("debug"):
                claimed: Claimed = signal.claimed  # type: ignore[assignment, union-attr]
                self._log("debug", "attempt.started", self._job_fields(claimed))
        elif kind in SPOKEN_OF:
            self._on_message_signal(signal)
        elif kind is not Measured:
            self._on_rare_signal(signal)

    def notice(self, text: str) -> None:
        """Log a text for people, whatever the level."""
        self._put(LogEntry(time.time(), "info", "notice", {"message": text}))

    def answered(
        self, request: UUID, method: str, route: str, status: int, seconds: float, key: str | None
    ) -> None:
        """Log an answered request; `key` is the id of its API key."""
        level = _level_of_answer(route, status)
        if not self._has(level):
            return
        fields = {"requestId": request, "method": method, "route": route, "status": status}
        self._log(level, "request.answered", {**fields, "durationSeconds": round(seconds, 6), "key": key})

    def failed(self, request: UUID, error: Exception) -> None:
        """Log a request that failed because of a bug."""
        reason = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        trace = "".join(traceback.format_exception(error))
        self._log("error", "request.failed", {"requestId": request, "reason": reason, **_error_field(trace)})

    def output(self, line: bytes) -> None:
        """Log a line that another process or library wrote to our standard error."""
        self._log("info", "output", {"message": line.decode(errors="backslashreplace")})

    def line(self, attempt: Assignment, line: LogLine) -> None:
        """Log a line that a job wrote, whatever the level: it was asked for."""
        fields: dict[str, Any] = {
            "jobId": attempt.job,
            "definition": attempt.definition,
            "version": attempt.version,
            "queue": attempt.queue,
            "attempt": attempt.attempt,
            "worker": self._worker,
            "line": line.level,
            "message": line.text,
        }
        if line.fields is not None:
            fields["fields"] = line.fields
        level = line.level if line.level in LEVELS else "info"
        self._put_line(LogEntry(line.at.timestamp(), level, "attempt.line", fields))

    def library(self, record: LogRecord) -> None:
        """Log a record of a library."""
        trace = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
        fields = {"logger": record.name, "reason": record.getMessage()[:LONGEST_ERROR], **_error_field(trace)}
        self._log("error" if record.levelno >= ERROR else "warning", "library", fields)

    def _has(self, level: str) -> bool:
        return level in self._levels

    def _log(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if self._has(level):
            self._put(LogEntry(time.time(), level, event, fields))

    def _job_fields(self, claimed: Claimed) -> dict[str, Any]:
        return {
            "jobId": claimed.lease.job,
            "definition": claimed.definition,
            "version": claimed.version,
            "queue": claimed.queue,
            "attempt": claimed.attempt,
            "worker": self._worker,
            "traceId": trace_of(claimed.lease.job, claimed.traceparent),
        }

    def _on_settled(self, signal: AttemptSettled) -> None:
        level = _LEVEL_OF.get(signal.state, "info")
        if not self._has(level):
            return
        claimed, outcome, usage = signal.claimed, signal.report.outcome, signal.report.usage
        job = claimed.lease.job
        fields: dict[str, Any] = {  # one display for all, since there is one of these for every attempt
            "jobId": job,
            "definition": claimed.definition,
            "version": claimed.version,
            "queue": claimed.queue,
            "attempt": claimed.attempt,
            "worker": self._worker,
            "traceId": job.hex if claimed.traceparent is None else trace_of(job, claimed.traceparent),
            "state": signal.state,
            "outcome": ENDING_OF[type(outcome)],
            "durationSeconds": int(signal.took * 1e6 + 0.5) / 1e6,  # `round` takes as long as all the rest
            "retries": claimed.attempt - 1,
            "maxAttempts": claimed.policy.max_attempts,
        }
        if type(outcome) is not Succeeded:
            fields |= _unsuccessful(signal)
        if usage is not None:
            fields["cpuSeconds"] = usage.cpu.total_seconds()
            fields["peakMemoryBytes"] = usage.peak_memory
            fields["exitCode"] = usage.exit_code
            fields["signal"] = usage.signal
        self._put(LogEntry(time.time(), level, "attempt.settled", fields))

    def _on_rare_signal(self, signal: Signal) -> None:
        match signal:
            case AttemptHandedBack(claimed, state, has_begun, took, reason):
                fields = {
                    **self._job_fields(claimed),
                    "state": state,
                    "outcome": Ending.KILLED if has_begun else Ending.HANDED_BACK,
                    **_ending_fields(took, claimed.attempt, claimed.policy.max_attempts, reason),
                }
                self._log(_LEVEL_OF.get(state, "info"), "attempt.handed_back", fields)
            case AttemptLost(claimed, fenced, took, aside):
                gone = "it was put aside with its job" if aside else "its lease was gone"
                reason = "we could not keep its lease" if fenced else gone
                ending = _ending_fields(took, claimed.attempt, claimed.policy.max_attempts, reason)
                fields = {**self._job_fields(claimed), "outcome": Ending.LOST, **ending}
                self._log("warning", "attempt.lost", fields)
            case JobPutAside(aside):
                self._log("error", "job.put_aside", self._aside_fields(aside))
            case HookFailed(job, hook, error, known):
                of_job = {"jobId": job} if known is None else self._job_fields(known)
                self._log("warning", "hook.failed", {**of_job, "hook": hook, "reason": error})
            case DutyDone(duty, moved):
                level, event = ("warning", "jobs.reaped") if duty == "reap" else ("debug", "jobs.promoted")
                jobs = [one.job for one in moved[:MOST_JOBS_NAMED]]
                self._log(level, event, {"count": len(moved), "jobs": jobs, "worker": self._worker})
                for one in moved:
                    if one.lapsed is not None:
                        self._log_reaped(one, one.lapsed)
            case ScheduleTicked():
                self._on_ticked(signal)
            case ScheduleLeftAlone((namespace, name), problem):
                fields = {"schedule": name, "namespace": namespace, "reason": problem, "worker": self._worker}
                self._log("warning", "schedule.unreadable", fields)
            case Troubled(loop, error, failures):
                *before, reason = error.strip().splitlines() or [""]
                fields = {"loop": loop, "reason": reason, "failures": failures, "worker": self._worker}
                self._log("warning", "loop.failed", {**fields, **_error_field(error if before else "")})
            case Recovered(loop):
                self._log("info", "loop.recovered", {"loop": loop, "worker": self._worker})
            case _:
                self._on_worker_signal(signal)

    def _on_message_signal(self, signal: Signal) -> None:
        if (entry := message_entry(signal)) is not None:
            self._log(entry.level, entry.event, {**entry.fields, "worker": self._worker})

    def _on_ticked(self, signal: ScheduleTicked) -> None:
        counts = Counter[str]()
        for tick in signal.ticks:
            counts[tick.outcome.value] += tick.count
        fields = {
            "schedule": signal.schedule.name,
            "namespace": signal.schedule.namespace,
            "tick": signal.ticks[-1].at,
            "lateSeconds": round((signal.at - signal.ticks[-1].at).total_seconds(), 6),
            "outcomes": dict(counts),
            "reason": next((tick.problem for tick in signal.ticks if tick.problem), ""),
            "worker": self._worker,
        }
        has_failed = any(tick.outcome in _FAILED_TICKS for tick in signal.ticks)
        self._log("warning" if has_failed else "info", "schedule.ticked", fields)

    def _aside_fields(self, aside: Aside) -> dict[str, Any]:
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

    def _log_reaped(self, moved: StepTaken, lapsed: LapsedAttempt) -> None:
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
            **_ending_fields(held_for, lapsed.attempt, lapsed.max_attempts, "WorkerLost: the lease ran out"),
        }
        self._log(_LEVEL_OF.get(moved.target, "warning"), "attempt.reaped", fields)

    def _on_worker_signal(self, signal: Signal) -> None:
        match signal:
            case WorkerReady(worker):
                self._worker = worker.id
                fields = {"slots": worker.slots, "lines": len(worker.lines), "version": worker.version}
                self._log("info", "worker.ready", {"worker": worker.id, **fields})
            case WorkerDraining(name, running, reason, seconds):
                fields = {"worker": name, "running": running, "reason": reason, "waitSeconds": seconds}
                self._log("info", "worker.draining", fields)
            case WorkerHalting(name, running, reason):
                fields = {"worker": name, "running": running, "reason": reason}
                self._log("warning", "worker.halting", fields)
            case WorkerStopped(name, handed_back, abandoned):
                fields = {"worker": name, "handedBack": handed_back, "abandoned": abandoned}
                self._log("warning" if abandoned else "info", "worker.stopped", fields)
            case WebhookPaused(webhook, host, reason):
                fields = {"webhook": webhook, "host": host, "reason": reason, "worker": self._worker}
                self._log("warning", "webhook.paused", fields)
            case ConnectionsShort(opened, waiting, reason):
                fields = {"open": opened, "waiting": waiting, "reason": reason, "worker": self._worker}
                self._log("warning", "connections.short", fields)
            case ConnectionsFreed(after):
                fields = {"durationSeconds": round(after, 3), "worker": self._worker}
                self._log("info", "connections.freed", fields)


def _unsuccessful(signal: AttemptSettled) -> dict[str, Any]:
    """Why an attempt ended that did not succeed, and what its job waits for now."""
    fields: dict[str, Any] = {}
    outcome, wait = signal.report.outcome, signal.wait
    if isinstance(outcome, Recoverable | Unrecoverable):
        fields["reason"] = f"{outcome.error.kind}: {outcome.error.message}"
    if wait is not None:
        fields["waitsFor"] = f"{wait.kind} {wait.signal or wait.step}"
    endless = wait is not None and wait.timeout is None
    if isinstance(outcome, Recoverable | Suspended) and not signal.state.is_final and not endless:
        fields["againInSeconds"] = round(outcome.after.total_seconds(), 3)
    return fields


def _ending_fields(took: float, attempt: int, max_attempts: int, reason: str) -> dict[str, Any]:
    """For an attempt without an outcome: how long it took, the retries before it, and why it ended."""
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


def _error_field(error: str) -> dict[str, str]:
    """The end of a traceback, in whole lines: half a line may be a secret without its name."""
    error = error.strip()
    if len(error) > LONGEST_ERROR:
        error = error[-LONGEST_ERROR:].partition("\n")[2]
    return {"error": error} if error else {}
