"""What a worker's signals look like on standard error: one line each, for people."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import click

from tenure.core.outcome import Recoverable, Unrecoverable
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    DutyDone,
    HookFailed,
    Measured,
    Recovered,
    Signal,
    SpanEnded,
    Troubled,
    WorkerDraining,
    WorkerReady,
    WorkerStopped,
)
from tenure.core.states import State
from tenure.surfaces.cli.output import COLOURS, plain

MOST_A_SECOND = 50
"""How many successes are told one by one: what comes faster nobody reads, and to print it takes its time."""


class Teller:
    """Prints what people want to know of, in a running event loop."""

    def __init__(self) -> None:
        self._since = 0.0
        self._told = 0
        self._untold = 0

    def __call__(self, signal: Signal) -> None:
        """Print a signal, unless it is one of too many successes, which are counted."""
        if isinstance(signal, AttemptStarted):
            return
        if isinstance(signal, AttemptSettled) and signal.state is State.SUCCEEDED and self._is_too_much():
            if not self._untold:
                asyncio.get_running_loop().call_later(1.0, self._sum_up)
            self._untold += 1
        elif (text := said(signal)) is not None:
            _print(text)

    def _is_too_much(self) -> bool:
        now = time.monotonic()
        if now - self._since >= 1.0:
            self._since, self._told = now, 0
        self._told += 1
        return self._told > MOST_A_SECOND

    def _sum_up(self) -> None:
        _print(f"{self._untold} more {_coloured(State.SUCCEEDED)}")
        self._untold = 0


def said(signal: Signal) -> str | None:
    """A signal in words; None for what would only be noise."""
    match signal:
        case WorkerReady(worker):
            lines = len(worker.lines)
            return f"{worker.id} serves {lines} line(s) with {worker.slots} slot(s)"
        case WorkerDraining(worker, running, reason):
            return f"{worker} claims no more ({reason}); {running} running"
        case WorkerStopped(worker, handed_back, abandoned):
            return f"{worker} has stopped; {handed_back} handed back, {abandoned} left to their leases"
        case AttemptStarted() | Measured() | SpanEnded():
            return None
        case AttemptSettled():
            return _settled(signal)
        case AttemptLost(claimed, fenced):
            why = "we could not keep its lease" if fenced else "its lease was gone"
            return f"{claimed.definition} {_short(claimed.lease.job.hex)} lost: {why}"
        case AttemptHandedBack(claimed, state):
            return f"{claimed.definition} {_short(claimed.lease.job.hex)} handed back, {_coloured(state)}"
        case HookFailed(job, hook, error):
            return f"hook {hook} of {job[-8:]} failed: {_first_line(error)}"
        case DutyDone("reap", moved):
            return f"{len(moved)} job(s) taken back from workers that were lost"
        case DutyDone():
            return None
        case Troubled(loop, error, failures):
            return f"{loop}: {_last_line(error)} ({failures} in a row)"
        case Recovered(loop):
            return f"{loop} works again"


def _settled(signal: AttemptSettled) -> str:
    claimed, outcome = signal.claimed, signal.report.outcome
    state = _coloured(signal.state)
    name = f"{claimed.definition} {_short(claimed.lease.job.hex)}"
    text = f"{name} attempt {claimed.attempt} {state}"
    if (usage := signal.report.usage) is not None:
        text += f" ({usage.cpu / timedelta(milliseconds=1):.0f} ms of CPU, {usage.peak_memory >> 20} MiB)"
    if isinstance(outcome, Recoverable | Unrecoverable):
        text += f": {plain(outcome.error.kind)}: {_first_line(outcome.error.message)}"
    return text


def _coloured(state: State) -> str:
    return click.style(state.value, fg=COLOURS.get(state))


def _print(text: str) -> None:
    click.echo(f"{datetime.now(UTC):%H:%M:%S} {text}", err=True)


def _short(job: str) -> str:
    return job[-8:]


def _first_line(text: str) -> str:
    return plain((text.splitlines() or [""])[0][:200])


def _last_line(text: str) -> str:
    return plain((text.strip().splitlines() or [""])[-1][:200])
