"""Deadlines: one timer for all ends each wait that takes too long, and no other."""

import asyncio

import pytest

from tenure.storage.postgres.wire import deadlines as module
from tenure.storage.postgres.wire.deadlines import Deadlines


def soon() -> float:
    """A deadline that has almost passed."""
    return asyncio.get_running_loop().time() + 0.01


def late() -> float:
    """A deadline that no test reaches."""
    return asyncio.get_running_loop().time() + 1_000.0


async def forever() -> None:
    await asyncio.Event().wait()


async def test_work_that_is_done_in_time_has_its_answer() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await Deadlines().keep(late(), work()) == 7


async def test_whoever_comes_later_with_less_time_is_ended_first() -> None:
    deadlines = Deadlines()
    patient = asyncio.create_task(deadlines.keep(late(), forever()))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await deadlines.keep(soon(), forever())
    assert not patient.done()
    patient.cancel()


async def test_those_who_are_left_are_ended_in_their_turn() -> None:
    """The timer was set for the first of them."""
    deadlines = Deadlines()
    await deadlines.keep(soon(), asyncio.sleep(0))
    waits = [deadlines.keep(soon() + 0.01 * more, forever()) for more in range(3)]
    answers = await asyncio.gather(*waits, return_exceptions=True)
    assert [type(answer) for answer in answers] == [TimeoutError] * 3


async def test_a_task_that_others_end_is_cancelled_and_not_late() -> None:
    deadlines = Deadlines()
    task = asyncio.create_task(deadlines.keep(late(), forever()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_task_that_others_end_while_it_is_late_is_cancelled() -> None:
    """Otherwise the code that cancelled it would wait without end."""
    deadlines = Deadlines()

    async def stubborn() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            task.cancel()
            await forever()

    task = asyncio.create_task(deadlines.keep(soon(), stubborn()))
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_task_that_was_late_may_go_on() -> None:
    """Afterwards it does not count as cancelled."""
    deadlines = Deadlines()
    with pytest.raises(TimeoutError):
        await deadlines.keep(soon(), forever())
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
    async with asyncio.timeout(10):
        await asyncio.sleep(0)


async def test_who_tidies_up_without_end_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that cancels a statement may wait for a silent server."""
    monkeypatch.setattr(module, "AGAIN", 0.01)

    async def tidy() -> None:
        try:
            await forever()
        finally:
            await forever()

    async with asyncio.timeout(60):
        with pytest.raises(TimeoutError):
            await Deadlines().keep(soon(), tidy())
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
