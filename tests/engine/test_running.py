"""An attempt in a worker's hands: what it enqueues is where its own job is."""

from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

import pytest

from tenure.core.documents import EMPTY
from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Claimed, Lease
from tenure.core.policy import Policy
from tenure.engine.manner import Hold
from tenure.engine.running import Running


@pytest.mark.parametrize(
    ("parent", "named", "found"),
    [("acme", "default", "acme"), ("acme", "other", "other"), ("default", "default", "default")],
)
async def test_a_child_is_in_the_namespace_of_its_parent(parent: str, named: str, found: str) -> None:
    """Else a job of one namespace would put what it knows before the eyes of another."""
    spawned: list[NewJob] = []

    async def spawn(_lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        spawned.extend(jobs)
        return []

    now = datetime.now(UTC)
    claimed = Claimed(
        lease=Lease(uuid4(), 1),
        namespace=parent,
        definition="mail",
        version=1,
        queue="default",
        params=EMPTY,
        policy=Policy(),
        attempt=1,
        traceparent=None,
        queued_at=now,
        started_at=now,
    )
    far = monotonic() + 60
    running = Running(claimed, Hold(far, far), spawn, lambda _: None)
    await running.spawn([NewJob(definition="mail", namespace=named)])
    assert [job.namespace for job in spawned] == [found]
