"""Pauses: nothing is claimed from a line or a queue, and nothing else changes."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Line, Order, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.reports.operations import Pause, PauseScope
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, PATIENCE, claim, enqueue_one, seconds, settle, state_of, succeeded
from tests.until import until

POST = Line("default", "post")
SLOW = Line("slow", "mail")
LINES = (MAIL, POST, SLOW)


async def claimed_from(store: Store, *lines: Line) -> set[UUID]:
    return {claimed.lease.job for claimed in await claim(store, lines=lines or LINES)}


async def pause_of(store: Store, line: Line = MAIL) -> Pause | None:
    [status] = [status for status in await store.lines() if status.line == line]
    return status.pause


async def test_nothing_is_claimed_from_a_paused_line(store: Store) -> None:
    """Others go on, even of the same queue or the same definition."""
    mail, post, slow = (
        await enqueue_one(store),
        await enqueue_one(store, "post"),
        await enqueue_one(store, queue="slow"),
    )
    await store.pause(MAIL)
    assert await claimed_from(store) == {post, slow}
    assert await claimed_from(store) == set()
    assert await state_of(store, mail) is State.QUEUED


async def test_another_version_is_another_line(store: Store) -> None:
    await enqueue_one(store)
    second = await enqueue_one(store, version=2)
    await store.pause(MAIL)
    assert await claimed_from(store, MAIL, Line("default", "mail", 2)) == {second}


async def test_nothing_is_claimed_from_a_paused_queue(store: Store) -> None:
    """From none of its lines."""
    jobs = {await enqueue_one(store), await enqueue_one(store, "post"), await enqueue_one(store, version=2)}
    slow = await enqueue_one(store, queue="slow")
    await store.pause("default")
    lines = (*LINES, Line("default", "mail", 2))
    assert await claimed_from(store, *lines) == {slow}
    assert await store.resume("default")
    assert await claimed_from(store, *lines) == jobs


async def test_a_pause_acts_at_once_on_who_was_claiming(store: Store) -> None:
    """What a store remembers of its lines does not outlive its own pause."""
    jobs = [await enqueue_one(store) for _ in range(4)]
    assert [claimed.lease.job for claimed in await claim(store, limit=1)] == jobs[:1]
    await store.pause(MAIL)
    assert await claim(store, limit=1) == []
    await store.resume(MAIL)
    assert [claimed.lease.job for claimed in await claim(store, limit=1)] == jobs[1:2]
    await store.pause("default")
    assert await claim(store, limit=1) == []
    await store.resume("default")
    assert [claimed.lease.job for claimed in await claim(store, limit=1)] == jobs[2:3]


async def test_a_pause_set_by_another_process_is_seen_soon(store: Store, other: Store) -> None:
    """Even by who finds enough to do all the time."""
    await enqueue_one(store)
    assert await claimed_from(store)
    await other.pause(MAIL)
    async with asyncio.timeout(PATIENCE):
        await enqueue_one(store)
        while await claim(store, limit=1):
            await enqueue_one(store)
    assert await claimed_from(store) == set()
    await other.resume(MAIL)
    await until(lambda: claimed_from(store))


async def test_jobs_that_come_during_a_pause_wait_with_the_others(store: Store, clock: Clock) -> None:
    """However they come into line; then they go in their order."""
    delayed, held = await enqueue_one(store, delay=seconds(5)), await enqueue_one(store, hold=True)
    await store.pause(MAIL)
    first = await enqueue_one(store)
    await store.accept([held])
    await clock.advance(seconds(5))
    await store.promote(10)
    assert await claimed_from(store) == set()
    await store.resume(MAIL)
    assert [claimed.lease.job for claimed in await claim(store)] == [first, held, delayed]


async def test_a_pause_may_come_before_its_line(store: Store) -> None:
    """A queue or line that nobody has used yet is paused all the same."""
    await store.pause(Line("default", "new"))
    await store.pause("unborn")
    await enqueue_one(store, "new")
    await enqueue_one(store, queue="unborn")
    lines = (Line("default", "new"), Line("unborn", "mail"))
    assert await claimed_from(store, *lines) == set()
    assert await store.resume(lines[0])
    assert await store.resume("unborn")
    assert len(await claimed_from(store, *lines)) == 2


@pytest.mark.parametrize("target", [MAIL, "default"], ids=["line", "queue"])
async def test_a_pause_until_a_time_ends_by_itself(store: Store, clock: Clock, target: Line | str) -> None:
    job = await enqueue_one(store)
    until = START + seconds(60)
    await store.pause(target, until=until)
    await clock.advance(seconds(59))
    assert await claimed_from(store) == set()
    shown = await pause_of(store)
    assert shown is not None
    assert shown.until == until
    await clock.advance(seconds(1))
    assert await pause_of(store) is None
    assert await claimed_from(store) == {job}


async def test_a_pause_that_is_over_keeps_nothing(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    await store.pause(MAIL, until=START - seconds(1))
    assert await pause_of(store) is None
    assert await claimed_from(store) == {job}


@pytest.mark.parametrize("target", [MAIL, "default"], ids=["line", "queue"])
async def test_operators_see_who_paused_and_why(store: Store, clock: Clock, target: Line | str) -> None:
    await enqueue_one(store)
    await enqueue_one(store, queue="slow")
    now = await clock.advance(seconds(3))
    await store.pause(target, until=now + seconds(9), by="ann", reason="the mail server – „down“")
    why = "the mail server – „down“"
    assert await pause_of(store) == Pause(
        scope=PauseScope.of(target), at=now, until=now + seconds(9), by="ann", reason=why
    )
    assert await pause_of(store, SLOW) is None
    await store.resume(target)
    assert await pause_of(store) is None


async def test_pausing_again_replaces_the_pause(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    await store.pause(MAIL, until=START + seconds(10), by="ann", reason="why")
    now = await clock.advance(seconds(5))
    await store.pause(MAIL)
    assert await pause_of(store) == Pause(
        scope=PauseScope.of(MAIL), at=now, until=None, by="api", reason=None
    )
    await clock.advance(timedelta(days=100))
    assert await claimed_from(store) == set()
    assert await store.resume(MAIL)
    assert await claimed_from(store) == {job}


async def test_a_queues_pause_and_a_lines_are_two(store: Store) -> None:
    """Each is ended by itself, and both must be."""
    job = await enqueue_one(store)
    await store.pause("default")
    await store.pause(MAIL)
    assert await store.resume(MAIL)
    assert await pause_of(store) is not None
    assert await claimed_from(store) == set()
    await store.pause(MAIL)
    assert await store.resume("default")
    assert await claimed_from(store) == set()
    assert await store.resume(MAIL)
    assert await claimed_from(store) == {job}


async def test_resuming_tells_whether_there_was_a_pause(store: Store) -> None:
    await enqueue_one(store)
    assert [await store.resume(MAIL), await store.resume("default"), await store.resume("unheard-of")] == [
        False
    ] * 3
    await store.pause(MAIL)
    assert [await store.resume("default"), await store.resume(MAIL), await store.resume(MAIL)] == [
        False,
        True,
        False,
    ]


async def test_what_runs_goes_on_through_a_pause(store: Store, clock: Clock) -> None:
    """Heartbeats, reports and cancels count as ever; a turn settles and claims nothing."""
    running, waiting = await enqueue_one(store), await enqueue_one(store)
    [owned] = await claim(store, limit=1, lease_for=seconds(30))
    await store.pause("default")
    await clock.advance(seconds(20))
    beat = await store.heartbeat(Pulse(worker="a", leases=[owned.lease], lease_for=seconds(30)))
    assert beat.kept == {owned.lease}
    await clock.advance(seconds(20))
    turn = await store.settle_and_claim([succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=5))
    assert (turn.settled.accepted, turn.claimed) == ({owned.lease: State.SUCCEEDED}, [])
    assert await state_of(store, running) is State.SUCCEEDED
    assert [standing.state for standing in await store.cancel([waiting])] == [State.CANCELLED]


async def test_jobs_handed_back_or_reaped_wait_for_the_end_of_the_pause(store: Store, clock: Clock) -> None:
    returned, lost = await enqueue_one(store), await enqueue_one(store)
    one, _ = await claim(store, limit=2, lease_for=seconds(30))
    await store.pause(MAIL)
    await store.hand_back("a", unstarted=[one.lease], killed=[])
    await clock.advance(seconds(30))
    await store.reap(10)
    assert await claimed_from(store) == set()
    await store.resume(MAIL)
    assert await claimed_from(store) == {returned, lost}


async def test_a_paused_line_takes_no_place_in_a_limit(store: Store) -> None:
    limits = (Limit("api", size=1),)
    await enqueue_one(store, priority=9, limits=limits)
    post = await enqueue_one(store, "post", limits=limits)
    await store.pause(MAIL)
    assert await claimed_from(store) == {post}


async def test_a_pause_holds_for_every_process(store: Store, other: Store) -> None:
    await enqueue_one(store)
    await store.pause(MAIL)
    assert await claimed_from(other) == set()
    assert await pause_of(other) == await pause_of(store)


async def test_a_pause_of_something_that_has_no_name_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="queue"):
        await store.pause("no such name")
    with pytest.raises(InvalidInput, match="until"):
        await store.pause(MAIL, until=START.replace(tzinfo=None))


async def test_settling_needs_no_open_line(store: Store) -> None:
    """A worker whose lines are all paused still gets rid of what it has done."""
    await enqueue_one(store)
    [owned] = await claim(store)
    await store.pause(MAIL)
    assert (await settle(store, [succeeded(owned)])).lost == []
