"""Meetings of webhooks with transactions that take long: nothing that commits later is missed."""

import asyncio

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.races.blocked_processes import PATIENCE
from tests.storage.races.requests import StoreCall, cancels, enqueues
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import enqueue_one, job_in, seconds
from tests.storage.webhook_verbs import fanned_out, fans_out, subscribed, taken, told, wanted

SHORT = Retention(succeeded=seconds(1), others=seconds(1), keyed=seconds(1), logs=None)


async def test_what_commits_after_a_webhook_was_made_is_told(store: Store, stage: Stage) -> None:
    """S1.17: though it had begun before; on SQLite it is committed first, and told to nobody."""
    job = await enqueue_one(store)
    new = wanted("cancelled")
    await stage.meet(cancels([job]), StoreCall("add_webhook", (new,), {"secret": None}), passes=True)
    await fanned_out(store)
    assert await told(store, new.id) == ([(job, "cancelled")] if stage.backend.kind == "postgres" else [])


async def test_a_cursor_does_not_pass_what_is_not_committed(store: Store, stage: Stage, clock: Clock) -> None:
    """S1.17: with a second's retention and a transaction open for half a minute every event is told.

    Jobs that ended beside it are kept until then. On SQLite nobody else ends any meanwhile.
    """
    webhook = await subscribed(store, "cancelled", "queued")
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(enqueues([NewJob(definition="mail")]))
        jobs = []
        if stage.backend.kind == "postgres":
            jobs = [await job_in(store, State.CANCELLED) for _ in range(3)]
            for _ in range(6):
                await clock.advance(seconds(5))
                await fanned_out(store)
                assert (await store.prune(SHORT)).jobs == 0
            assert await told(store, webhook) == []
        stage.alice.go()
        [held] = (await stage.alice.done()).answer
    await clock.advance(seconds(2))
    assert (await store.prune(SHORT)).jobs == 0
    await fanned_out(store)
    queued = [(job, "queued") for job in [held.id, *jobs]]
    cancelled = [(job, "cancelled") for job in jobs]
    assert sorted(await told(store, webhook)) == sorted([*queued, *cancelled])
    assert (await store.prune(SHORT)).jobs == len(jobs)


async def test_who_fans_out_second_has_nothing_to_do(store: Store, stage: Stage) -> None:
    """S1.17: it waits for the first, and sees that the cursor has moved."""
    webhook = await subscribed(store, "cancelled")
    job = await job_in(store, State.CANCELLED)
    call = await fans_out(store, await taken(store))
    first, second = await stage.meet(call, call)
    assert (first, second) == (True, False)
    assert await told(store, webhook) == [(job, "cancelled")]


async def test_a_webhook_waits_for_what_is_being_fanned_out(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """S1.17: it begins behind all that was read without it."""
    await subscribed(store, "cancelled")
    await job_in(store, State.CANCELLED)
    new = wanted("cancelled")
    call = await fans_out(store, await taken(store))
    moved, added = await stage.meet(call, StoreCall("add_webhook", (new,), {"secret": None}))
    assert moved
    assert added.after >= call.arguments[1]
    job = await job_in(store, State.CANCELLED)
    await fanned_out(store)
    assert await told(store, new.id) == [(job, "cancelled")]
    assert await backend.sql("SELECT count(*) FROM tenure.cursor") == [(1,)]
