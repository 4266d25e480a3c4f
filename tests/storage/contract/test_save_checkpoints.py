"""Saving checkpoints: the last one under a lease that holds stands."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import LARGEST_STEP
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.durable_verbs import held, held_again, recalled
from tests.storage.verbs import claim, enqueue_one, record_of, seconds


async def test_the_last_checkpoint_stands(store: Store, clock: Clock) -> None:
    """S0.7: a later attempt goes on from it."""
    lease = await held(store)
    before = await record_of(store, lease.job)
    assert await store.save_checkpoints("a", [(lease, Document("1")), (lease, Document("2"))]) == [True, True]
    assert (await recalled(store, lease)).checkpoint == "2"
    assert await store.save_checkpoints("a", [(lease, Document("3"))]) == [True]
    assert await record_of(store, lease.job) == before
    await clock.advance(seconds(31))
    await store.reap(10)
    assert (await recalled(store, await held_again(store))).checkpoint == "3"


async def test_what_was_lost_saves_nothing(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: only the owner, and only while its lease holds; the others are saved all the same."""
    await enqueue_one(store), await enqueue_one(store)
    one, two = [claimed.lease for claimed in await claim(store)]
    forged = Lease(one.job, one.fence + 1)
    body = Document("1")
    assert await store.save_checkpoints("a", [(forged, body), (two, body)]) == [False, True]
    assert await store.save_checkpoints("b", [(one, body)]) == [False]
    await clock.advance(seconds(30))
    assert await store.save_checkpoints("a", [(one, body)]) == [False]
    await store.reap(10)
    again = {claimed.lease.job: claimed.lease for claimed in await claim(store)}
    assert (await recalled(store, again[one.job])).checkpoint is None
    assert (await recalled(store, again[two.job])).checkpoint == "1"


async def test_a_checkpoint_has_a_largest_size(store: Store) -> None:
    lease = await held(store)
    largest = Document("1" * LARGEST_STEP)
    assert await store.save_checkpoints("a", [(lease, largest)]) == [True]
    with pytest.raises(InvalidInput, match="checkpoint"):
        await store.save_checkpoints("a", [(lease, Document(largest + "1"))])


async def test_nothing_to_save_is_no_error(store: Store) -> None:
    assert await store.save_checkpoints("a", []) == []
