"""Reading log lines: by attempt and number, piece by piece, of one attempt or of all."""

from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Claimed
from tenure.core.model.trail import Logged
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, line, settle, succeeded, trail


async def three_attempts(store: Store) -> list[Claimed]:
    """A job whose attempts wrote seven lines each; two have ended."""
    await enqueue_one(store)
    attempts: list[Claimed] = []
    for number in range(3):
        if attempts:
            await store.hand_back("a", unstarted=[attempts[-1].lease], killed=[])
        [owned] = await claim(store)
        attempts.append(owned)
        await store.record("a", [trail(owned, *(line(n, f"{number}.{n}") for n in range(1, 8)))])
    return attempts


def texts(logged: list[Logged]) -> list[str]:
    return [one.line.text for one in logged]


ALL = [f"{number}.{n}" for number in range(3) for n in range(1, 8)]


async def test_a_job_that_wrote_nothing_has_no_lines(store: Store) -> None:
    job = await enqueue_one(store)
    assert await store.logs(job) == await store.logs(uuid4()) == []


async def test_lines_come_attempt_by_attempt(store: Store) -> None:
    """In the order of fences, and within one in the order of numbers."""
    attempts = await three_attempts(store)
    logged = await store.logs(attempts[0].lease.job)
    assert texts(logged) == ALL
    assert [one.fence for one in logged[::7]] == [owned.lease.fence for owned in attempts]


@pytest.mark.parametrize("limit", [1, 2, 7, 8, 20, 21])
async def test_whoever_reads_on_misses_nothing(store: Store, limit: int) -> None:
    """In pieces of any size."""
    [first, *_] = await three_attempts(store)
    after: tuple[int, int] | None = None
    read: list[Logged] = []
    while piece := await store.logs(first.lease.job, after=after, limit=limit):
        assert len(piece) <= limit
        read += piece
        after = (piece[-1].fence, piece[-1].line.n)
    assert texts(read) == ALL


@pytest.mark.parametrize("limit", [1, 7, 8, 21, 22])
async def test_the_end_of_the_lines_is_read_without_what_came_before(store: Store, limit: int) -> None:
    """In the order in which they were written, across attempts."""
    [first, *_] = await three_attempts(store)
    assert texts(await store.last_logs(first.lease.job, limit=limit)) == ALL[-limit:]
    assert await store.last_logs(uuid4(), limit=limit) == []
    for wrong in (0, 10_001):
        with pytest.raises(InvalidInput, match="limit"):
            await store.last_logs(first.lease.job, limit=wrong)


async def test_one_attempt_can_be_read_alone(store: Store) -> None:
    attempts = await three_attempts(store)
    job, fence = attempts[1].lease.job, attempts[1].lease.fence
    assert texts(await store.logs(job, fence=fence)) == ALL[7:14]
    assert texts(await store.logs(job, fence=fence, after=(fence, 3))) == ALL[10:14]
    assert texts(await store.logs(job, fence=fence, after=(attempts[0].lease.fence, 5))) == ALL[7:14]
    assert texts(await store.logs(job, fence=fence, after=(attempts[2].lease.fence, 1))) == []
    assert texts(await store.logs(job, fence=fence, limit=2)) == ALL[7:9]
    assert await store.logs(job, fence=attempts[2].lease.fence + 1) == []


async def test_each_job_has_lines_of_its_own(store: Store) -> None:
    """Those claimed together share a fence, not their lines."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    owned = {one.lease.job: one for one in await claim(store)}
    assert len({one.lease.fence for one in owned.values()}) == 1
    await store.record("a", [trail(owned[job], line(1, str(job))) for job in jobs[:2]])
    assert [texts(await store.logs(job)) for job in jobs] == [[str(jobs[0])], [str(jobs[1])], []]


async def test_lines_outlive_the_end_of_the_job(store: Store) -> None:
    """S0.72: nobody who works on a job deletes what is known of it."""
    *_, last = await three_attempts(store)
    await settle(store, [succeeded(last)])
    assert texts(await store.logs(last.lease.job)) == ALL


async def test_what_another_process_wrote_is_seen(store: Store, other: Store) -> None:
    [first, *_] = await three_attempts(other)
    assert texts(await store.logs(first.lease.job)) == ALL


@pytest.mark.parametrize(
    "requested",
    [
        {"limit": 0},
        {"limit": 10_001},
        {"fence": -1},
        {"fence": 2**63},
        {"after": (-1, 0)},
        {"after": (1, 2**31)},
    ],
)
async def test_a_reading_that_cannot_be_is_refused(store: Store, requested: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(requested))):
        await store.logs(UUID(int=1), **requested)  # type: ignore[arg-type]
