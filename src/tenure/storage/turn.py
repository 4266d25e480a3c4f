"""A worker's turn between core values and columns: reports going in, settled and claimed jobs coming out.

Every job passes here twice, a hundred of them a turn, so rows are taken apart by position and what most jobs
share is made once.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core.documents import Document
from tenure.core.lease import Claimed, Lease, Line
from tenure.core.outcome import (
    Ending,
    Outcome,
    Recoverable,
    Report,
    Settled,
    Stopped,
    Succeeded,
    Suspended,
    Unrecoverable,
)
from tenure.core.states import State
from tenure.core.trail import Usage
from tenure.storage.values import policy, written_failure

CLAIM_COLUMNS = 16
"""How many columns of a claimed row say what `claimed_from` reads; each store adds some of its own."""

_UNKNOWN = (None, None, None, None)
_STATES: Mapping[str, State] = {state.value: state for state in State}

line = lru_cache(maxsize=1024)(Line)
"""The line of that name; equal ones are one object, checked once."""


class Reported(Struct, frozen=True, gc=False):
    """A report as columns."""

    lease: Lease
    ending: Ending
    result: str | None = None
    error: str | None = None
    after: timedelta | None = None
    usage: Usage | None = None


def reported(reports: Iterable[Report]) -> list[Reported]:
    """Reports as columns; of several for one lease the first counts."""
    first: dict[Lease, Report] = {}
    for report in reports:
        first.setdefault(report.lease, report)
    return [_columns(report.lease, report.outcome, report.usage) for report in first.values()]


def _columns(lease: Lease, outcome: Outcome, usage: Usage | None) -> Reported:
    if isinstance(outcome, Succeeded):  # nearly all of them
        return Reported(lease, Ending.SUCCEEDED, outcome.result, None, None, usage)
    match outcome:
        case Recoverable(error, after):
            return Reported(lease, Ending.RECOVERABLE, None, written_failure(error), after, usage)
        case Unrecoverable(error):
            return Reported(lease, Ending.UNRECOVERABLE, None, written_failure(error), None, usage)
        case Stopped():
            return Reported(lease, Ending.STOPPED, usage=usage)
        case Suspended(after):
            return Reported(lease, Ending.SUSPENDED, after=after, usage=usage)


def usage_columns(usage: Usage | None) -> tuple[int | None, int | None, int | None, int | None]:
    """CPU milliseconds, bytes at the peak, exit code and signal."""
    if usage is None:
        return _UNKNOWN
    cpu = usage.cpu
    # Dividing lengths of time by each other takes longer than all the rest.
    cpu_ms = (cpu.days * 86_400 + cpu.seconds) * 1_000 + cpu.microseconds // 1_000
    return cpu_ms, usage.peak_memory, usage.exit_code, usage.signal


def settled_from(given: Sequence[Reported], groups: Iterable[tuple[str, Iterable[int]]]) -> Settled:
    """The answer to reports: the state that those at some places led to; the others have lost their lease."""
    accepted = {given[place - 1].lease: _STATES[state] for state, places in groups for place in places}
    if len(accepted) == len(given):
        return Settled(accepted, [])
    return Settled(accepted, [one.lease for one in given if one.lease not in accepted])


def claimed_from(
    line: Line,
    job: UUID,
    fence: int,
    attempt: int,
    queued_at: datetime,
    started_at: datetime,
    namespace: str,
    params: Document,
    traceparent: str | None,
    *policy_columns: Any,
) -> Claimed:
    """The first columns of a claimed row, in the order in which both stores select them."""
    return Claimed(
        lease=Lease(job, fence),
        namespace=namespace,
        definition=line.definition,
        version=line.version,
        queue=line.queue,
        params=params,
        policy=policy(*policy_columns),
        attempt=attempt,
        traceparent=traceparent,
        queued_at=queued_at,
        started_at=started_at,
    )
