"""Coalescing: a single caller makes its call itself, and calls that come meanwhile share the next one."""

import asyncio
from collections.abc import Sequence

import pytest

from tenure.storage.postgres.wire.coalesce import Coalescer


class BatchRunner:
    """Takes batches; each waits until `open` is set."""

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
def batch_runner() -> BatchRunner:
    return BatchRunner()


@pytest.fixture
def coalescer(batch_runner: BatchRunner) -> Coalescer[int, int]:
    return Coalescer(batch_runner.take, most=100, patience=60.0, lanes=1)


async def begun(*calls: "list[int]", on: Coalescer[int, int]) -> list[asyncio.Task[list[int]]]:
    """Start calls in tasks of their own, in this order, until they wait."""
    tasks = [asyncio.create_task(on.call(items)) for items in calls]
    await asyncio.sleep(0)
    return tasks


async def test_one_caller_at_a_time_makes_the_call_itself(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    batch_runner.open.set()
    assert [await coalescer.call([n]) for n in (1, 2)] == [[10], [20]]
    assert batch_runner.tasks == [asyncio.current_task()] * 2


async def test_those_who_come_meanwhile_share_one(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    calls = await begun([1], [2, 3], [4], on=coalescer)
    batch_runner.open.set()
    assert await asyncio.gather(*calls) == [[10], [20, 30], [40]]
    assert batch_runner.batches == [[1], [2, 3, 4]]


async def test_callers_that_have_shared_go_on_sharing(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    """Even the first of them, which would run alone without waiting for the others of its turn."""
    batch_runner.open.set()
    for _ in range(3):
        await asyncio.gather(*(coalescer.call([n]) for n in (1, 2, 3)))
    assert batch_runner.batches == [[1], [2, 3], [1, 2, 3], [1, 2, 3]]


async def test_a_caller_that_gives_up_leaves_its_place_to_others(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    first, second = await begun([1], [2], on=coalescer)
    first.cancel()
    batch_runner.open.set()
    assert await second == [20]
    assert first.cancelled()
    assert await coalescer.call([3]) == [30]


async def test_who_waits_does_not_suffer_for_whoever_went_first(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    first, second = await begun([0], [2], on=coalescer)
    batch_runner.open.set()
    assert await second == [20]
    with pytest.raises(ValueError, match="zero"):
        await first


async def test_closing_waits_for_a_caller_that_is_alone(
    batch_runner: BatchRunner, coalescer: Coalescer[int, int]
) -> None:
    [call] = await begun([1], on=coalescer)
    closing = asyncio.create_task(coalescer.close())
    await asyncio.sleep(0)
    assert not closing.done()
    batch_runner.open.set()
    await closing
    assert batch_runner.batches == [[1]]
    assert await call == [10]
