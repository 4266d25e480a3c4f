"""How many jobs of a namespace have not ended: counted up to a bound, among its newest."""

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tenure.storage.mapping import overview
from tests.storage.verbs import enqueue_one, one_in_each_state


async def test_all_that_has_not_ended_counts_and_nothing_else(store: Store) -> None:
    jobs = await one_in_each_state(store, namespace="acme")
    unfinished = sum(not state.is_final for state in jobs)
    assert await store.unfinished("acme", most=100) == unfinished == len(State) - 4
    await store.cancel([jobs[State.QUEUED], jobs[State.CREATED]])
    assert await store.unfinished("acme", most=100) == unfinished - 2


async def test_each_namespace_is_counted_apart_and_the_usual_one_not_at_all(store: Store) -> None:
    for namespace in ("acme", "globex", "acme", "default"):
        await enqueue_one(store, namespace=namespace)
    counted = [await store.unfinished(name, most=9) for name in ("acme", "globex", "default", "nobody")]
    assert counted == [2, 1, 0, 0]


async def test_it_is_counted_no_further_than_asked(store: Store) -> None:
    for _ in range(4):
        await enqueue_one(store, namespace="acme")
    assert [await store.unfinished("acme", most=most) for most in (1, 3, 4, 5)] == [1, 3, 4, 4]


async def test_what_stands_behind_many_that_have_ended_is_not_looked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "BEHIND", 2)
    await enqueue_one(store, namespace="acme")
    for _ in range(2):
        await store.cancel([await enqueue_one(store, namespace="acme")])
    assert await store.unfinished("acme", most=1) == 1
    await store.cancel([await enqueue_one(store, namespace="acme")])
    assert await store.unfinished("acme", most=1) == 0
