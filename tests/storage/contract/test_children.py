"""`children`: the jobs that a job has started."""

from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one


async def test_the_jobs_that_a_job_started_are_listed_in_the_order_of_creation(store: Store) -> None:
    parent, other = await enqueue_one(store), await enqueue_one(store)
    made = await store.enqueue(
        [NewJob(definition="chart", parent=parent, hold=n == 1) for n in range(3)]
        + [NewJob(definition="chart", parent=other), NewJob(definition="chart")]
    )
    found = await store.children(parent)
    assert [(one.id, one.parent) for one in found] == [(one.id, parent) for one in made[:3]]
    assert [one.state for one in found] == [State.QUEUED, State.CREATED, State.QUEUED]
    assert len(await store.children(parent, limit=2)) == 2
    assert await store.children(made[0].id) == []


async def test_no_more_children_than_a_page_are_asked_for(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.children(UUID(int=1), limit=201)
