"""Forgetting steps: those of a loop that are past, together with a checkpoint that says so."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import Forgotten, Keeping
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import done, held, intended, keep, recalled, skipped, statuses
from tests.storage.verbs import record_of, seconds


async def test_finished_steps_that_begin_so_are_removed(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await keep(
        store, lease, done("page:1", "12"), done("page:2", "34"), intended("page:3"), done("pages"), done("P")
    )
    before = await record_of(store, lease.job)

    forgotten = await store.forget_steps("a", lease, "page:", Document('{"from":3}'))

    assert forgotten == Forgotten(removed=2, left=3)
    assert await statuses(store, lease.job) == {"page:3": "intended", "pages": "done", "P": "done"}
    assert (await recalled(store, lease)).checkpoint == '{"from":3}'
    assert await backend.sql("SELECT steps, bytes FROM tenure.kept") == [(3, 2)]
    assert await record_of(store, lease.job) == before
    assert await keep(store, lease, done("page:1", "9")) == [Keeping.KEPT]


async def test_no_prefix_means_all_that_is_finished(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, done("a"), intended(), done("b"), skipped("c"))
    assert await store.forget_steps("a", lease, "") == Forgotten(removed=3, left=1)
    assert await store.forget_steps("a", lease, "") == Forgotten(removed=0, left=1)
    assert (await recalled(store, lease)).checkpoint is None


async def test_no_character_of_a_prefix_means_anything(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, done("a%b"), done("axb"), done("a_b"))
    assert await store.forget_steps("a", lease, "a%") == Forgotten(removed=1, left=2)
    assert await store.forget_steps("a", lease, "a_") == Forgotten(removed=1, left=1)


async def test_what_was_lost_forgets_nothing(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: only the owner, and only while its lease holds."""
    lease = await held(store)
    await keep(store, lease, done())
    assert await store.forget_steps("b", lease, "", Document("1")) is None
    assert await store.forget_steps("a", Lease(lease.job, lease.fence + 1), "", Document("1")) is None
    assert (await recalled(store, lease)).checkpoint is None
    await clock.advance(seconds(30))
    assert await store.forget_steps("a", lease, "") is None
    assert await statuses(store, lease.job) == {"fetch": "done"}


async def test_steps_of_other_jobs_stay(store: Store) -> None:
    first, second = await held(store), await held(store)
    await keep(store, first, done())
    await keep(store, second, done())
    await store.forget_steps("a", first, "")
    assert await statuses(store, second.job) == {"fetch": "done"}


async def test_a_prefix_that_no_name_has_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="prefix"):
        await store.forget_steps("a", await held(store), "a/")
