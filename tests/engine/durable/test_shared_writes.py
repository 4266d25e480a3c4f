"""What many attempts keep goes to the store together; while that is away, it waits."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from tenure.core.errors import DataRefused, StoreBusy, StoreError, StoreUnavailable
from tenure.core.model.lease import Lease
from tenure.engine.durable import shared_writes
from tenure.engine.durable.shared_writes import SharedWrites, patiently
from tests.until import until

LEASE = Lease(UUID(int=1), 1)


class Disk:
    """Writes numbers when it is told to; fails as it is told."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.tries = 0
        self.failures: list[Exception] = []
        self.bad: set[int] = set()
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def write(self, items: Sequence[tuple[Lease, int]]) -> list[int]:
        await self.is_open.wait()
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        numbers = [item for _, item in items]
        if self.bad & set(numbers):
            raise DataRefused("one of them is wrong")
        self.written.append(numbers)
        return [-number for number in numbers]


@pytest.fixture
def disk() -> Disk:
    return Disk()


async def test_what_comes_while_a_write_is_under_way_shares_the_next(disk: Disk) -> None:
    async with asyncio.TaskGroup() as tasks:
        writes: SharedWrites[int, int] = SharedWrites(disk.write, tasks)
        disk.is_open.clear()
        first = tasks.create_task(writes.put(LEASE, 1, 10))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        others = [tasks.create_task(writes.put(LEASE, n, 10)) for n in range(2, 102)]
        await asyncio.sleep(0)
        disk.is_open.set()
        assert await asyncio.gather(first, *others) == [-n for n in range(1, 102)]
    assert [len(batch) for batch in disk.written] == [1, 100]


async def test_a_write_has_a_most_of_items_and_of_bytes(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_writes, "MOST_TOGETHER", 3)
    monkeypatch.setattr(shared_writes, "MOST_BYTES", 100)
    async with asyncio.TaskGroup() as tasks:
        writes: SharedWrites[int, int] = SharedWrites(disk.write, tasks)
        await asyncio.gather(*(writes.put(LEASE, n, size) for n, size in enumerate([1, 1, 1, 1, 99, 1, 500])))
    assert disk.written == [[0, 1, 2], [3, 4], [5], [6]]


@pytest.mark.parametrize("outage", [StoreUnavailable("away", unknown=True), StoreBusy("locked")])
async def test_while_the_store_is_away_the_write_is_repeated(
    disk: Disk, outage: StoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S0.6: what it keeps has happened, and must not be reported as an error."""
    monkeypatch.setattr(shared_writes, "FIRST_PAUSE", 0.001)
    disk.failures = [outage] * 5
    async with asyncio.TaskGroup() as tasks:
        writes: SharedWrites[int, int] = SharedWrites(disk.write, tasks)
        kept = asyncio.gather(writes.put(LEASE, 1, 1), writes.put(LEASE, 2, 1))
        assert sorted(await kept) == [-2, -1]
    assert disk.tries == 6
    disk.failures = [outage] * 2
    assert await patiently(lambda: disk.write([(LEASE, 3)])) == [-3]


async def test_one_that_is_refused_harms_no_other(disk: Disk) -> None:
    disk.bad = {2}
    async with asyncio.TaskGroup() as tasks:
        writes: SharedWrites[int, int] = SharedWrites(disk.write, tasks)
        found = await asyncio.gather(*(writes.put(LEASE, n, 1) for n in (1, 2, 3)), return_exceptions=True)
    assert [found[0], type(found[1]), found[2]] == [-1, DataRefused, -3]


async def test_what_nobody_waits_for_any_more_is_given_up(disk: Disk) -> None:
    """An attempt whose lease is lost is halted; a worker that ends does not wait for a store that is away."""
    disk.failures = [StoreUnavailable("away")] * 1000
    async with asyncio.TaskGroup() as tasks:
        writes: SharedWrites[int, int] = SharedWrites(disk.write, tasks)
        put = tasks.create_task(writes.put(LEASE, 1, 1))
        await until(lambda: disk.tries > 1)
        put.cancel()
    assert disk.tries < 10
    assert not disk.written
