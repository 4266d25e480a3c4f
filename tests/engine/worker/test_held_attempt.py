"""An attempt that a worker holds: its children are in its namespace, with keys made of their params."""

from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

import pytest

from tenure.core.errors import LeaseLost, StoreUnavailable
from tenure.core.model.child_keys import marked
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.policy import Policy
from tenure.core.values.documents import EMPTY
from tenure.engine.config import LeaseDeadlines
from tenure.engine.worker.held_attempt import AnswerDurable, HeldAttempt, Spawn, StoreCalls
from tenure.execution.parent.attempt_terms import StopReason
from tenure.execution.protocol.durable import Answer, Question, Recall


async def unanswered(_lease: Lease, question: Question) -> Answer:
    raise LeaseLost(str(question))


def running_in(namespace: str, spawn: Spawn, answer: AnswerDurable = unanswered) -> HeldAttempt:
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
    return HeldAttempt(claimed, LeaseDeadlines(far, far), StoreCalls(spawn, answer), lambda _: None)


@pytest.mark.parametrize(
    ("parent", "named", "found"),
    [("acme", "default", "acme"), ("acme", "other", "other"), ("default", "default", "default")],
)
async def test_a_child_is_in_the_namespace_of_its_parent(parent: str, named: str, found: str) -> None:
    """Else a job of one namespace would show its data to another."""
    spawned: list[NewJob] = []

    async def spawn(_lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        spawned.extend(jobs)
        return []

    await running_in(parent, spawn).spawn([NewJob(definition="mail", namespace=named)])
    assert [job.namespace for job in spawned] == [found]


async def test_a_handler_that_asks_again_for_what_could_not_be_made_asks_for_the_same_child() -> None:
    """It may have been made, and the next attempt counts no failures."""
    keys: list[str | None] = []

    async def spawn(_lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        keys.extend(job.key for job in jobs)
        if len(keys) == 1:
            raise StoreUnavailable("it was cut off")
        return []

    running = running_in("default", spawn)
    child = marked(NewJob(definition="mail"))
    with pytest.raises(StoreUnavailable):
        await running.spawn([child])
    await running.spawn([child])
    await running.spawn([child])
    assert keys[0] == keys[1] != keys[2]


async def test_an_attempt_whose_progress_is_refused_is_halted_at_once() -> None:
    """The store knows of a lost lease before the next heartbeat does."""
    running = running_in("default", spawn_nothing)
    with pytest.raises(LeaseLost):
        await running.durable(Recall())
    assert running.stop.reason is StopReason.LOST


async def spawn_nothing(*_: object) -> list[Enqueued]:
    return []
