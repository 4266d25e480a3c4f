"""Jobs that the database refuses to move, and a turn that meets them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.aside import Aside, JobsAside
from tenure.core.model.lease import Claimed, Order
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Report
from tenure.core.model.turn import TurnResult
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.verbs import (
    claim,
    enqueue_one,
)

NEIGHBOURS = 19
LIMIT = Limit("narrow", "", 1)


async def many(store: Store, number: int = NEIGHBOURS + 1, **requested: Any) -> list[UUID]:
    return [await enqueue_one(store, **requested) for _ in range(number)]


async def put_aside(
    store: Store, reports: Sequence[Report], order: Order | None = None
) -> tuple[list[Aside], TurnResult]:
    """A turn that meets jobs which cannot be moved, and the same without them."""
    order = order or Order(worker="a", lines=(), limit=0)
    with pytest.raises(JobsAside) as met:
        await store.settle_and_claim(reports, order)
    gone = {one.lease for one in met.value.asides}
    rest = [report for report in reports if report.lease not in gone]
    return list(met.value.asides), await store.settle_and_claim(rest, order)


async def guilty_one(store: Store, backend: Backend) -> Claimed:
    """A job that runs, whose next step cannot be recorded."""
    await enqueue_one(store)
    [owned] = await claim(store, limit=1)
    await damaged_rows.next_event(backend.address, owned.lease.job)
    return owned
