"""Pairs with pruning, the only verb that deletes: pruned jobs are gone entirely, and the others are whole."""

from itertools import pairwise
from typing import Any
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.core.values.documents import Document
from tests.storage.races.collision import BATCH, Collision, Ground, Pair, jobs_of
from tests.storage.races.requests import pages, prunes, replays
from tests.storage.verbs import claim, listed, seconds, settle, succeeded

EVERYTHING = Retention(succeeded=seconds(0), others=seconds(0), keyed=seconds(0))
PARAMS = Document('{"to":"ann"}')
WAYS = (
    Filter(),
    Filter(queue="default"),
    Filter(tag="red"),
    Filter(states=frozenset([State.QUEUED, State.CANCELLED])),
)
"""Lists that read different tables."""


async def leave_nothing(ground: Ground) -> None:
    """Prune all jobs; one with only half of its rows would stay, or fail."""
    await ground.store.prune(EVERYTHING)
    assert await listed(ground.store) == []


async def pruning_and_replaying(ground: Ground) -> Collision:
    """A job is run again or unknown; its replay is whole, though the job may go as soon as it is made."""
    jobs = await ground.finished(tags=("red",), params=PARAMS)
    ids = ground.shuffled(jobs)

    def agree(pruned: Any, replayed: Any) -> bool:
        unknown = [it.job for it in replayed if it.state is None]
        return (
            [it.job for it in replayed] == ids
            and all(it.fresh == (it.replay is not None) == (it.state is not None) for it in replayed)
            and len(unknown) <= pruned.jobs <= BATCH
        )

    async def afterwards(pruned: Any, replayed: Any) -> None:
        store = ground.store
        again = {it.replay: it.job for it in replayed if it.replay}
        there = {it.id: it.replay_of for it in await listed(store, Filter(tag="red"))}
        left = there.keys() - again.keys()
        assert {job: there.get(job) for job in again} == again
        assert left <= set(again.values())
        assert len(left) == BATCH - pruned.jobs
        owned = await claim(store, limit=BATCH)
        assert jobs_of(one.lease for one in owned) == again.keys()
        assert all(one.params == PARAMS for one in owned)
        assert (await settle(store, map(succeeded, owned))).lost == []
        await leave_nothing(ground)

    return Collision(prunes(), replays(ids), agree, afterwards)


async def pruning_and_listing(ground: Ground) -> Collision:
    """Jobs that stay are listed once and in order, wherever a page ends; pruned ones are listed or not."""
    waiting, keyed, going = await mixed_batch(ground)
    which, newest_first = ground.chance.choice(WAYS), ground.chance.random() < 0.5

    def in_order(ids: list[UUID]) -> bool:
        return all((one > two) == newest_first and one != two for one, two in pairwise(ids))

    def agree(pruned: Any, page: Any) -> bool:
        ids = [it.id for it in page.jobs]
        return pruned.jobs == len(going) and in_order(ids) and {*waiting, *keyed, *going}.issuperset(ids)

    async def afterwards(_pruned: Any, page: Any) -> None:
        ids = [it.id for it in page.jobs]
        while page.next is not None:
            page = await ground.store.page(which, after=page.next, newest_first=newest_first, limit=7)
            assert not set(going) & {it.id for it in page.jobs}
            ids += [it.id for it in page.jobs]
        assert in_order(ids)
        assert set(ids) - set(going) == {*waiting, *keyed}
        await ground.store.cancel(waiting)
        await leave_nothing(ground)

    limit = ground.chance.choice([7, 200])
    return Collision(prunes(), pages(which, newest_first=newest_first, limit=limit), agree, afterwards)


async def mixed_batch(ground: Ground) -> tuple[list[UUID], list[UUID], list[UUID]]:
    """Jobs one after another: one waits, one has ended but keeps its key, one has ended and may go."""
    mark = ground.chance.random()
    made = await ground.store.enqueue(
        [
            NewJob(definition="mail", tags=("red",), key=f"{mark}-{n}" if n % 3 == 1 else None)
            for n in range(3 * BATCH)
        ]
    )
    ids = [one.id for one in made]
    waiting, keyed, going = ids[::3], ids[1::3], ids[2::3]
    await ground.store.cancel(keyed + going)
    return waiting, keyed, going


PAIRS: tuple[Pair, ...] = (pruning_and_replaying, pruning_and_listing)
