"""The calls that a test can have an actor make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line, Order, Progress, Pulse
from tenure.core.model.outcome import Report
from tenure.core.model.states import DEAD_LETTERS
from tenure.core.reports.operations import PauseScope
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import PruneScope, Retention
from tests.storage.verbs import MAIL

AT_ONCE = Retention(succeeded=timedelta(0), others=timedelta(0))
"""Every finished job may be pruned, unless it has a key."""


@dataclass(frozen=True)
class StoreCall:
    """A verb and its arguments; `at` is the store's time for it, if that changes."""

    verb: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None


def enqueues(jobs: Sequence[NewJob]) -> StoreCall:
    return StoreCall("enqueue", (jobs,))


def claims(worker: str, limit: int = 20) -> StoreCall:
    return turns(worker, [], limit)


def settles(worker: str, reports: Iterable[Report]) -> StoreCall:
    order = Order(worker=worker, lines=(), limit=0)
    return StoreCall("settle_and_claim", (list(reports), order))


def turns(
    worker: str, reports: Iterable[Report], limit: int = 20, lines: tuple[Line, ...] = (MAIL,)
) -> StoreCall:
    """Settle, and claim the next jobs."""
    order = Order(worker=worker, lines=lines, limit=limit, lease_for=timedelta(seconds=30))
    return StoreCall("settle_and_claim", (list(reports), order))


def cancels(ids: Sequence[UUID]) -> StoreCall:
    return StoreCall("cancel", (ids,))


def gives_up(ids: Sequence[UUID]) -> StoreCall:
    return StoreCall("give_up", (ids,))


def reschedules(ids: Sequence[UUID], delay: timedelta) -> StoreCall:
    return StoreCall("reschedule", (ids,), {"delay": delay})


def beats(worker: str, leases: Sequence[Lease]) -> StoreCall:
    """Prolong leases for five minutes, and write progress under each."""
    progress = dict.fromkeys(leases, Progress(0.5))
    pulse = Pulse(worker=worker, leases=leases, lease_for=timedelta(minutes=5), progress=progress)
    return StoreCall("heartbeat", (pulse,))


def promotes(limit: int = 100, *, at: datetime | None = None) -> StoreCall:
    return StoreCall("promote", (limit,), at=at)


def reaps(limit: int = 100, *, at: datetime | None = None) -> StoreCall:
    return StoreCall("reap", (limit,), at=at)


def replays(ids: Sequence[UUID]) -> StoreCall:
    return StoreCall("replay", (ids,))


def pauses(scope: PauseScope) -> StoreCall:
    return StoreCall("pause", (scope,))


def sets_limit(name: str, size: int) -> StoreCall:
    return StoreCall("set_limit", (name, size))


def prunes() -> StoreCall:
    return StoreCall("prune", (AT_ONCE,))


def prunes_logs() -> StoreCall:
    """All log lines of finished jobs go."""
    return StoreCall("prune_logs", (Retention(logs=timedelta(0)),))


def purges(jobs: list[UUID]) -> StoreCall:
    """These dead letters go, whatever their keys."""
    everything = Retention(succeeded=timedelta(0), others=timedelta(0), keyed=timedelta(0))
    return StoreCall("prune", (everything,), {"scope": PruneScope(jobs=jobs, states=DEAD_LETTERS)})


def pages(which: Filter, *, newest_first: bool = True, limit: int = 50) -> StoreCall:
    """The first page of a list."""
    return StoreCall("page", (which,), {"newest_first": newest_first, "limit": limit})


def mends(what: str, job: UUID) -> StoreCall:
    """The `place`, `timer` or `lease` of a job."""
    return StoreCall(f"mend_{what}", (job,))


def mends_slots(name: str, key: str = "") -> StoreCall:
    return StoreCall("mend_slots", (name, key))


def strands(worker: str, leases: Sequence[Lease]) -> StoreCall:
    return StoreCall("strand", (worker, leases))


def keeps(definition: str, **change: timedelta) -> StoreCall:
    """Parts of how long jobs are kept are set."""
    return StoreCall("set_retention", (definition, change))


def migrates() -> StoreCall:
    return StoreCall("migrate")


def migrates_further(reads_from: int) -> StoreCall:
    """As a newer version does: one migration more, which code can read that knows those up to a number."""
    return StoreCall("migrate_further", (reads_from,))


def verifies() -> StoreCall:
    return StoreCall("verify")
