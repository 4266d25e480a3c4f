"""Pauses whose time is over: they are not shown, counted or ended any more."""

import pytest

from tenure.core.model.lease import Line
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, enqueue_one, seconds

UNBORN = Line("default", "unborn")


@pytest.mark.parametrize("target", [MAIL, "default"], ids=["line", "queue"])
async def test_a_pause_that_ran_out_is_none_to_resume_from(
    store: Store, clock: Clock, target: Line | str
) -> None:
    """Resuming answers that there was nothing to end."""
    await store.pause(target, until=START + seconds(60))
    await clock.advance(seconds(60))
    assert not await store.resume(target)
    await store.pause(target, until=clock.now + seconds(1))
    assert await store.resume(target)


async def test_a_line_known_by_its_pause_alone_goes_with_it(store: Store, clock: Clock) -> None:
    await store.pause(UNBORN, until=START + seconds(60))
    assert [status.line for status in await store.lines()] == [UNBORN]
    await clock.advance(seconds(60))
    assert await store.lines() == []


@pytest.mark.parametrize("target", [MAIL, "default"], ids=["line", "queue"])
async def test_whatever_is_paused_keeps_nobody_awake(store: Store, clock: Clock, target: Line | str) -> None:
    """A line or a whole queue, until the pause is over; others of another queue are none of its business."""
    await enqueue_one(store)
    await enqueue_one(store, queue="slow")
    await store.pause(target, until=START + seconds(60))
    assert not (await store.outlook([MAIL])).waiting
    assert (await store.outlook([MAIL, Line("slow", "mail")])).waiting
    await clock.advance(seconds(60))
    assert (await store.outlook([MAIL])).waiting
