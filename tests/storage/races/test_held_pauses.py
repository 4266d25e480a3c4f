"""Meetings of what operators set with claims: one call is not yet committed while the other one needs it.

On PostgreSQL neither waits for the other: a claim goes by what was committed when it began. On SQLite every
call waits for the file, and sees what was left.
"""

from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import PauseScope
from tenure.storage.contract.store import Store
from tests.storage.races.record_check import faults
from tests.storage.races.requests import claims, enqueues, pauses, sets_limit
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import claim, enqueue_one

MAIL = PauseScope(definition="mail")


async def test_what_a_claim_took_before_the_pause_was_committed_runs_and_the_rest_waits(
    store: Store, stage: Stage
) -> None:
    for _ in range(3):
        await enqueue_one(store)
    _, turn = await stage.meet(pauses(MAIL), claims("a", 1), passes=True)
    assert len(turn.claimed) == (0 if stage.backend.kind == "sqlite" else 1)
    # The next claim begins after the commit. It may go by what its process knows for some seconds, no longer.
    assert await claim(store, "fresh") == []
    assert await faults(stage.backend) == []


async def test_a_pause_that_comes_while_a_claim_is_under_way_does_not_undo_it(
    store: Store, stage: Stage
) -> None:
    await enqueue_one(store)
    turn, _ = await stage.meet(claims("a", 1), pauses(MAIL), passes=True)
    assert len(turn.claimed) == 1
    await enqueue_one(store)
    assert await claim(store, "fresh") == []
    assert await faults(stage.backend) == []


async def test_a_limit_that_is_being_lowered_lets_nobody_begin_beyond_the_old_size(
    store: Store, stage: Stage
) -> None:
    """And once it is committed, none beyond the new one."""
    await store.enqueue([NewJob(definition="mail", limits=(Limit("api", size=3),)) for _ in range(9)])
    _, turn = await stage.meet(sets_limit("api", 1), claims("a", 9), passes=True)
    assert len(turn.claimed) == (1 if stage.backend.kind == "sqlite" else 3)
    assert await claim(store, "fresh", 9) == []
    assert await faults(stage.backend) == []


async def test_a_limit_that_is_raised_while_a_claim_is_under_way_has_its_room_afterwards(
    store: Store, stage: Stage
) -> None:
    await store.enqueue([NewJob(definition="mail", limits=(Limit("api", size=1),)) for _ in range(9)])
    turn, _ = await stage.meet(claims("a", 9), sets_limit("api", 4), passes=True)
    assert len(turn.claimed) == 1
    assert len(await claim(store, "fresh", 9)) == 3
    assert await faults(stage.backend) == []


async def test_a_key_that_comes_while_its_limit_is_raised_has_the_new_room(
    store: Store, stage: Stage
) -> None:
    """The job that brings the key is not committed yet when the new size is set."""
    await store.enqueue([NewJob(definition="mail", limits=(Limit("tenant", "a", 1),))])
    jobs = [NewJob(definition="mail", limits=(Limit("tenant", "b", 1),)) for _ in range(5)]
    await stage.meet(enqueues(jobs), sets_limit("tenant", 3), passes=True)
    claimed = await claim(store, "fresh", 9)
    assert len(claimed) == 1 + 3
