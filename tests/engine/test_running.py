"""An attempt in a worker's hands: what it enqueues is where its own job is, and known by its words."""

from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

import pytest

from tenure.core.children import marked
from tenure.core.documents import EMPTY
from tenure.core.errors import StoreUnavailable
from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Claimed, Lease
from tenure.core.policy import Policy
from tenure.engine.manner import Hold
from tenure.engine.running import Running, Spawn


def running_in(namespace: str, spawn: Spawn) -> Running:
    now = datetime.now(UTC)
    claimed = Claimed(
        lease=Lease(uuid4(), 1),
        namespace=namespace,
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
    return Running(claimed, Hold(far, far), spawn, lambda _: None)


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

    await running_in(parent, spawn).spawn([NewJob(definition="mail", namespace=named)])
    assert [job.namespace for job in spawned] == [found]


async def test_a_handler_that_asks_again_for_what_could_not_be_made_asks_for_the_same_child() -> None:
    """It may have been made, and the next attempt counts no failures."""
    asked: list[str | None] = []

    async def spawn(_lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        asked.extend(job.key for job in jobs)
        if len(asked) == 1:
            raise StoreUnavailable("it was cut off")
        return []

    running = running_in("default", spawn)
    child = marked(NewJob(definition="mail"))
    with pytest.raises(StoreUnavailable):
        await running.spawn([child])
    await running.spawn([child])
    await running.spawn([child])
    assert asked[0] == asked[1] != asked[2]
