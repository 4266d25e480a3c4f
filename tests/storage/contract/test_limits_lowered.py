"""A limit that was lowered while more ran than it allows: other jobs are not held up."""

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, settle, succeeded

LINES = (Line("default", "mail"), Line("default", "post"))


async def test_jobs_under_another_limit_are_claimed_meanwhile(store: Store) -> None:
    """The lowered one is of higher priority and looks as if it had room."""
    crowd = [NewJob(definition="mail", priority=9, limits=(Limit("k", size=10),)) for _ in range(30)]
    others = [NewJob(definition="post", limits=(Limit("j", size=2),)) for _ in range(3)]
    await store.enqueue(crowd + others)
    running = await claim(store, limit=10, lines=LINES[:1])
    await store.set_limit("k", 5)
    await settle(store, [succeeded(job) for job in running[:5]])
    claimed = [job for _ in range(3) for job in await claim(store, worker="b", limit=1, lines=LINES)]
    assert [job.definition for job in claimed] == ["post", "post"]


async def test_nothing_is_waiting_while_nothing_may_be_claimed(store: Store) -> None:
    await store.enqueue([NewJob(definition="mail", limits=(Limit("k", size=4),)) for _ in range(9)])
    running = await claim(store, limit=4, lines=LINES)
    await store.set_limit("k", 2)
    await settle(store, [succeeded(running[0]), succeeded(running[1])])
    assert not (await store.outlook(LINES)).waiting
    await settle(store, [succeeded(running[2])])
    assert (await store.outlook(LINES)).waiting
