"""Finds the jobs for which the database refuses a batch.

Each function takes what stood in the batch of one verb. It yields parts to try and is sent the refusal of
each, or None; its result is the jobs that are refused alone. Each store says how its verb is tried, in a
savepoint that is rolled back.
"""

from collections.abc import Generator, Sequence
from typing import TypeVar

from tenure.core.model.aside import Met
from tenure.core.model.lease import Lease
from tenure.storage.mapping.aside import Culprit, DatabaseRefusal
from tenure.storage.mapping.turn_rows import ReportRow
from tenure.storage.mapping.values import Row

Suspect = TypeVar("Suspect")
RowType = TypeVar("RowType", bound=Row)

Trials = Generator[Sequence[Suspect], DatabaseRefusal | None, list[Culprit]]

MOST_GUILTY = 16
"""How many jobs one search finds: it has to end before the caller's timeout."""


def blame_reports(reports: Sequence[ReportRow], worker: str) -> Trials[ReportRow]:
    """Which reports cannot be recorded."""
    guilty = yield from halve(reports)
    return [
        Culprit(one.lease.job, refusal, Met.SETTLE, worker, owner=worker, report=one)
        for one, refusal in guilty
    ]


def blame_queued(queued: Sequence[RowType], worker: str) -> Trials[RowType]:
    """Which jobs in line cannot be claimed."""
    guilty = yield from halve(queued)
    return [
        Culprit(row["job"], refusal, Met.CLAIM, worker, place=(row["line"], row["rank"], row["seq"]))
        for row, refusal in guilty
    ]


def blame_leases(leases: Sequence[Lease], worker: str) -> Trials[Lease]:
    """Which jobs cannot be handed back."""
    guilty = yield from halve(leases)
    return [Culprit(lease.job, refusal, Met.HAND_BACK, worker, owner=worker) for lease, refusal in guilty]


def blame_due(due: Sequence[RowType]) -> Trials[RowType]:
    """Which jobs that are due cannot be promoted."""
    guilty = yield from halve(due)
    return [Culprit(row["job"], refusal, Met.PROMOTE, "clock") for row, refusal in guilty]


def blame_expired(expired: Sequence[RowType]) -> Trials[RowType]:
    """Which jobs under expired leases cannot be reaped."""
    guilty = yield from halve(expired)
    return [Culprit(row["job"], refusal, Met.REAP, "reaper", owner=row["owner"]) for row, refusal in guilty]


def halve(
    suspects: Sequence[Suspect], most: int = MOST_GUILTY
) -> Generator[Sequence[Suspect], DatabaseRefusal | None, list[tuple[Suspect, DatabaseRefusal]]]:
    """Up to `most` of those that are refused alone."""
    refusal = yield suspects
    if refusal is None:
        return []
    if len(suspects) == 1:
        return [(suspects[0], refusal)]
    middle = len(suspects) // 2
    guilty = yield from halve(suspects[:middle], most)
    if len(guilty) < most:
        guilty += yield from halve(suspects[middle:], most - len(guilty))
    return guilty
