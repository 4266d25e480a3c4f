"""Wake-ups by an operator: ending a pause or widening a limit makes work for waiting workers."""

import pytest

from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL, claim, enqueue_one, fall_asleep, settle, succeeded, woken


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("way", ["resume a line", "resume a queue", "widen a limit"])
async def test_room_for_jobs_that_wait_wakes(store: Store, other: Store, way: str, where: str) -> None:
    """They were put in line long ago, and nothing else would tell of them."""
    operator = store if where == "here" else other
    target = "default" if way == "resume a queue" else MAIL
    jobs = [await enqueue_one(store, limits=(Limit("api"),)) for _ in range(2)]
    if way == "widen a limit":
        assert len(await claim(store, limit=1)) == 1
    else:
        await operator.pause(target)
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        if way == "widen a limit":
            await operator.set_limit("api", 2)
        else:
            assert await operator.resume(target)
        assert await woken(wakeups)
    claimed = await claim(store) or await claim(store)
    assert {owned.lease.job for owned in claimed} <= set(jobs)
    assert len(claimed) == 1


async def test_endings_wake_nobody_who_waits_for_jobs(store: Store) -> None:
    """However many there are: a worker that is idle is left in peace."""
    for _ in range(5):
        await enqueue_one(store)
    owned = await claim(store)
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        for one in owned:
            await settle(store, [succeeded(one)])
        assert not await wakeups.wait(0.1)
