"""What an actor can be asked to do, as one says it in a test."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tenure.core.job import NewJob
from tenure.core.lease import Lease, Line, Order, Progress, Pulse
from tenure.core.operations import Retention
from tenure.core.outcome import Report
from tenure.core.reading import Filter
from tests.storage.telling import MAIL

AT_ONCE = Retention(succeeded=timedelta(0), others=timedelta(0))
"""Whatever has finished may go, unless it has a key."""


@dataclass(frozen=True)
class Asked:
    """A verb and its arguments; `at` is the store's time for it, if the time moves on with it."""

    verb: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None


def enqueues(jobs: Sequence[NewJob]) -> Asked:
    return Asked("enqueue", (jobs,))


def claims(worker: str, limit: int = 20) -> Asked:
    return turns(worker, [], limit)


def settles(worker: str, reports: Iterable[Report]) -> Asked:
    order = Order(worker=worker, lines=(), limit=0)
    return Asked("settle_and_claim", (list(reports), order))


def turns(
    worker: str, reports: Iterable[Report], limit: int = 20, lines: tuple[Line, ...] = (MAIL,)
) -> Asked:
    """Settle, and claim what is next."""
    order = Order(worker=worker, lines=lines, limit=limit, lease_for=timedelta(seconds=30))
    return Asked("settle_and_claim", (list(reports), order))


def cancels(ids: Sequence[UUID]) -> Asked:
    return Asked("cancel", (ids,))


def beats(worker: str, leases: Sequence[Lease]) -> Asked:
    """Prolong leases for five minutes, and write progress under each."""
    progress = dict.fromkeys(leases, Progress(0.5))
    pulse = Pulse(worker=worker, leases=leases, lease_for=timedelta(minutes=5), progress=progress)
    return Asked("heartbeat", (pulse,))


def promotes(limit: int = 100, *, at: datetime | None = None) -> Asked:
    return Asked("promote", (limit,), at=at)


def reaps(limit: int = 100, *, at: datetime | None = None) -> Asked:
    return Asked("reap", (limit,), at=at)


def replays(ids: Sequence[UUID]) -> Asked:
    return Asked("replay", (ids,))


def prunes() -> Asked:
    return Asked("prune", (AT_ONCE,))


def pages(which: Filter, *, newest_first: bool = True, limit: int = 50) -> Asked:
    """The first page of a list."""
    return Asked("page", (which,), {"newest_first": newest_first, "limit": limit})
