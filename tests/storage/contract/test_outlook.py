"""The outlook: what a worker that has nothing to do may expect."""

from tenure.core.model.lease import Line, Presence, Pulse
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.reading import Outlook
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, recoverable, seconds, settle, suspended

POST = Line("default", "post")


async def test_nothing_is_to_come_in_an_empty_store(store: Store, clock: Clock) -> None:
    now = await clock.advance(seconds(3))
    assert await store.outlook([MAIL, POST]) == Outlook(now, False, None, None)
    assert await store.outlook([]) == Outlook(now, False, None, None)


async def test_jobs_in_its_lines_wait_for_the_worker(store: Store) -> None:
    """And those of other lines do not."""
    await enqueue_one(store)
    await enqueue_one(store, queue="slow")
    assert (await store.outlook([POST, MAIL])).waiting
    assert not (await store.outlook([POST, Line("default", "mail", 2), Line("unborn", "mail")])).waiting
    await claim(store)
    assert not (await store.outlook([POST, MAIL])).waiting


async def test_the_next_timer_is_the_earliest_of_all(store: Store, clock: Clock) -> None:
    """Delays, backoffs and suspensions alike; promoting them is everybody's duty, whatever their line."""
    await enqueue_one(store, "post", delay=seconds(50))
    assert (await store.outlook([MAIL])).next_timer == START + seconds(50)
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [suspended(owned, after=seconds(40))])
    assert (await store.outlook([MAIL])).next_timer == START + seconds(40)
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, after=seconds(30))])
    assert (await store.outlook([MAIL])).next_timer == START + seconds(30)
    await clock.advance(seconds(35))
    assert (await store.outlook([MAIL])).next_timer == START + seconds(30)
    await store.promote(10)
    assert (await store.outlook([MAIL])).next_timer == START + seconds(40)


async def test_a_held_job_has_no_time(store: Store) -> None:
    """It waits for a word, not for the clock."""
    await enqueue_one(store, hold=True)
    await enqueue_one(store, hold=True, delay=seconds(5))
    outlook = await store.outlook([MAIL])
    assert (outlook.waiting, outlook.next_timer) == (False, None)


async def test_a_job_given_up_is_due_at_once(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, after=seconds(500))])
    await store.give_up([job])
    outlook = await store.outlook([MAIL])
    assert outlook.next_timer is not None
    assert outlook.next_timer <= outlook.now


async def test_the_next_expiry_is_that_of_the_first_lease_to_run_out(store: Store, clock: Clock) -> None:
    """Anybody's; a heartbeat puts it off."""
    await enqueue_one(store)
    await enqueue_one(store)
    [long] = await claim(store, "a", limit=1, lease_for=seconds(60))
    [short] = await claim(store, "b", limit=1, lease_for=seconds(20))
    assert (await store.outlook([POST])).next_expiry == START + seconds(20)
    await clock.advance(seconds(10))
    await store.heartbeat(Pulse(worker="b", leases=[short.lease], lease_for=seconds(90)))
    assert (await store.outlook([])).next_expiry == START + seconds(60)
    await clock.advance(seconds(55))
    assert [moved.job for moved in await store.reap(10)] == [long.lease.job]
    assert (await store.outlook([])).next_expiry == START + seconds(100)


async def test_a_paused_line_keeps_nobody_awake(store: Store, clock: Clock) -> None:
    """There is nothing to claim from it until the pause is over."""
    await enqueue_one(store)
    await store.pause(MAIL, until=START + seconds(60))
    outlook = await store.outlook([MAIL])
    assert (outlook.waiting, outlook.next_resume) == (False, START + seconds(60))
    await clock.advance(seconds(60))
    outlook = await store.outlook([MAIL])
    assert (outlook.waiting, outlook.next_resume) == (True, None)


async def test_a_worker_that_looks_is_seen_and_told_to_drain(store: Store, clock: Clock) -> None:
    """As by a heartbeat without leases; who does not say who looks is not seen."""
    await store.enlist(WorkerInfo(id="a", host="here", pid=7, version="1", slots=4, lines=(MAIL,)))
    [enlisted] = await store.workers()
    now = await clock.advance(seconds(10))
    assert not (await store.outlook([MAIL])).drain
    [still] = await store.workers()
    assert still.seen_at == enlisted.seen_at
    assert not (await store.outlook([MAIL], Presence("a", True))).drain
    [seen] = await store.workers()
    assert (seen.seen_at, seen.is_ready) == (now, True)
    await store.drain("a")
    assert (await store.outlook([MAIL], Presence("a", False))).drain
    assert not (await store.outlook([MAIL], Presence("stranger", True))).drain
    [told] = await store.workers()
    assert not told.is_ready


async def test_the_last_minute_on_record_is_in_the_outlook(store: Store, clock: Clock) -> None:
    assert (await store.outlook([])).paced is None
    await clock.advance(seconds(90))
    await store.note_pace(waits={}, runs={})
    paced = (await store.outlook([])).paced
    assert paced == (await store.paces(seconds(600))).minutes[-1].minute
