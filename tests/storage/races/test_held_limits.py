"""Meetings under a limit that was lowered while it was in use."""

from tenure.core.job import NewJob
from tenure.core.limit import Limit
from tenure.storage.contract import Store
from tests.storage.races.asked import claims
from tests.storage.races.stage import Stage
from tests.storage.telling import claim, settle, succeeded


async def test_two_claims_at_once_do_not_both_take_the_last_place(store: Store, stage: Stage) -> None:
    """One still runs from when the limit was larger, so there is room for one more, and not for two."""
    limits = (Limit("api", size=5),)
    await store.enqueue([NewJob(definition="mail", limits=limits) for _ in range(9)])
    running = await claim(store, limit=5)
    await store.set_limit("api", 2)
    await settle(store, [succeeded(owned) for owned in running[:4]])
    await stage.meet(claims("a", 1), claims("b", 1), passes=True)
    assert [use.held for use in await store.limits()] == [2]
