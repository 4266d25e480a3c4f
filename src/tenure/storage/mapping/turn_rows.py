"""A worker's turn between core values and columns: reports in, settled and claimed jobs out.

Every job passes here twice, a hundred of them a turn: so rows are read by position, and values that most
jobs share are made once.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.outcome import (
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
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.values.documents import Document
from tenure.storage.mapping.job_rows import policy, written_failure

CLAIM_COLUMNS = 16
"""How many columns of a claimed row `claimed_from` reads; each store adds some of its own."""

_UNKNOWN = (None, None, None, None)
_STATES: Mapping[str, State] = {state.value: state for state in State}

line = lru_cache(maxsize=20_000)(Line)
"""The line of that name; equal ones are one object, checked once."""


class ReportRow(Struct, frozen=True, gc=False):
    """A report as columns."""

    lease: Lease
    ending: Ending
    result: str | None = None
    error: str | None = None
    after: timedelta | None = None
    usage: Usage | None = None


def report_rows(reports: Iterable[Report]) -> list[ReportRow]:
    """Reports as columns; of several for one lease the first counts."""
    first: dict[Lease, Report] = {}
    for report in reports:
        first.setdefault(report.lease, report)
    return [_columns(report.lease, report.outcome, report.usage) for report in first.values()]


def _columns(lease: Lease, outcome: Outcome, usage: Usage | None) -> ReportRow:
    if isinstance(outcome, Succeeded):  # nearly all of them
        return ReportRow(lease, Ending.SUCCEEDED, outcome.result, None, None, usage)
    match outcome:
        case Recoverable(error, after):
            return ReportRow(lease, Ending.RECOVERABLE, None, written_failure(error), after, usage)
        case Unrecoverable(error):
            return ReportRow(lease, Ending.UNRECOVERABLE, None, written_failure(error), None, usage)
        case Stopped():
            return ReportRow(lease, Ending.STOPPED, usage=usage)
        case Suspended(after):
            return ReportRow(lease, Ending.SUSPENDED, after=after, usage=usage)


def usage_columns(usage: Usage | None) -> tuple[int | None, int | None, int | None, int | None]:
    """CPU milliseconds, bytes at the peak, exit code and signal."""
    if usage is None:
        return _UNKNOWN
    cpu = usage.cpu
    # Dividing timedeltas takes longer than all the rest.
    cpu_ms = (cpu.days * 86_400 + cpu.seconds) * 1_000 + cpu.microseconds // 1_000
    return cpu_ms, usage.peak_memory, usage.exit_code, usage.signal


def settled_from(given: Sequence[ReportRow], groups: Iterable[tuple[str, Iterable[int]]]) -> Settled:
    """The answer to reports: the state that each led to, by place; the others have lost their lease."""
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
