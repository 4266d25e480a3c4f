"""Coalescing: who is alone makes the call, who comes meanwhile shares the next one."""

import asyncio
from collections.abc import Sequence

import pytest

from tenure.storage.postgres.coalesce import Coalescer


class Desk:
    """Takes batches; each waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.tasks: list[asyncio.Task[None] | None] = []
        self.open = asyncio.Event()

    async def take(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        await self.open.wait()
        if 0 in items:
            raise ValueError("zero")
        return [10 * item for item in items]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def coalescer(desk: Desk) -> Coalescer[int, int]:
    return Coalescer(desk.take, most=100, patience=60.0, lanes=1)


async def begun(*calls: "list[int]", on: Coalescer[int, int]) -> list[asyncio.Task[list[int]]]:
    """Calls by tasks of their own, in this order, as far as they come by themselves."""
    tasks = [asyncio.create_task(on.call(items)) for items in calls]
    await asyncio.sleep(0)
    return tasks


async def test_one_caller_at_a_time_makes_the_call_itself(desk: Desk, coalescer: Coalescer[int, int]) -> None:
    desk.open.set()
    assert [await coalescer.call([n]) for n in (1, 2)] == [[10], [20]]
    assert desk.tasks == [asyncio.current_task()] * 2


async def test_those_who_come_meanwhile_share_one(desk: Desk, coalescer: Coalescer[int, int]) -> None:
    calls = await begun([1], [2, 3], [4], on=coalescer)
    desk.open.set()
    assert await asyncio.gather(*calls) == [[10], [20, 30], [40]]
    assert desk.batches == [[1], [2, 3, 4]]


async def test_callers_that_have_shared_go_on_sharing(desk: Desk, coalescer: Coalescer[int, int]) -> None:
    """Even the first of them, who would be alone if he did not wait for the others of his turn."""
    desk.open.set()
    for _ in range(3):
        await asyncio.gather(*(coalescer.call([n]) for n in (1, 2, 3)))
    assert desk.batches == [[1], [2, 3], [1, 2, 3], [1, 2, 3]]


async def test_a_caller_that_gives_up_leaves_its_place_to_others(
    desk: Desk, coalescer: Coalescer[int, int]
) -> None:
    first, second = await begun([1], [2], on=coalescer)
    first.cancel()
    desk.open.set()
    assert await second == [20]
    assert first.cancelled()
    assert await coalescer.call([3]) == [30]


async def test_who_waits_does_not_suffer_for_whoever_went_first(
    desk: Desk, coalescer: Coalescer[int, int]
) -> None:
    first, second = await begun([0], [2], on=coalescer)
    desk.open.set()
    assert await second == [20]
    with pytest.raises(ValueError, match="zero"):
        await first


async def test_closing_waits_for_a_caller_that_is_alone(desk: Desk, coalescer: Coalescer[int, int]) -> None:
    [call] = await begun([1], on=coalescer)
    closing = asyncio.create_task(coalescer.close())
    await asyncio.sleep(0)
    assert not closing.done()
    desk.open.set()
    await closing
    assert desk.batches == [[1]]
    assert await call == [10]
