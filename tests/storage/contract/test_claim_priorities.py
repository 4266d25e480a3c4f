"""Very many priorities in one line: strictly in order however many are taken, and no job is forgotten."""

import random
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tenure.storage.postgres.claims import freshness
from tests.storage.clock import Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, seconds

POST = Line("default", "post")
MANY = 300


async def one_for_each(store: Store, *definitions: str, count: int = MANY) -> list[UUID]:
    """A job of each definition at each priority, enqueued in no order; the most urgent first."""
    spread = range(-32_767, 32_768, 65_534 // (count - 1))
    jobs = [NewJob(definition=name, priority=priority) for priority in spread for name in definitions]
    random.Random(24).shuffle(jobs)
    made = zip(jobs, await store.enqueue(jobs), strict=True)
    return [job.id for _, job in sorted(made, key=lambda pair: (-pair[0].priority, pair[0].definition))]


@pytest.mark.parametrize("limit", [1, 7, 40, MANY])
async def test_many_priorities_are_served_in_order(store: Store, limit: int) -> None:
    """S1.67: by priority, highest first, however many there are and however few a claim takes."""
    jobs = await one_for_each(store, "mail")
    taken: list[UUID] = []
    while batch := await claim(store, limit=limit):
        assert len(batch) == min(limit, len(jobs) - len(taken))
        taken += [owned.lease.job for owned in batch]
    assert taken == jobs


@pytest.mark.parametrize("limit", [7, 40])
async def test_no_line_goes_before_more_urgent_jobs_of_a_longer_one(store: Store, limit: int) -> None:
    """S1.67: two lines with a job at each priority, and one with jobs in the middle only."""
    order = await one_for_each(store, "mail", "wire", count=60)
    middle = [await enqueue_one(store, "post", priority=0) for _ in range(5)]
    lines = [MAIL, Line("default", "wire"), POST]
    taken: list[UUID] = []
    while batch := await claim(store, limit=limit, lines=lines):
        taken += [owned.lease.job for owned in batch]
    ranks = {job: index // 2 for index, job in enumerate(order)} | dict.fromkeys(middle, 29.5)
    seen = [ranks[job] for job in taken]
    # Jobs claimed together come line by line.
    assert [sorted(seen[n : n + limit]) for n in range(0, len(seen), limit)] == [
        sorted(ranks.values())[n : n + limit] for n in range(0, len(seen), limit)
    ]


async def test_an_old_job_behind_very_many_priorities_is_seen(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3.67: claims that go by age look at a few further priorities, and go on where the last one ended."""
    monkeypatch.setattr(freshness, "FRESH_FOR", 0.0)  # each claim looks: the test does not last for minutes
    monkeypatch.setattr(freshness, "WORTH", 0)
    old = await enqueue_one(store, priority=-30_000)
    await clock.advance(seconds(60 * 70_000))
    await one_for_each(store, "mail")
    claims = 0
    while old not in [owned.lease.job for owned in await claim(store, limit=1)]:
        await enqueue_one(store, priority=32_767)
        claims += 1
        assert claims < 5 * MANY


async def test_a_long_line_without_room_keeps_nobody_waiting(store: Store) -> None:
    """Though more urgent jobs stand in it than anybody has looked at."""
    limits = (Limit("api"),)
    await store.enqueue([NewJob(definition="mail", priority=100 + n, limits=limits) for n in range(50)])
    assert len(await claim(store, limit=5)) == 1
    post = await enqueue_one(store, "post")
    assert [owned.lease.job for owned in await claim(store, limit=5, lines=[MAIL, POST])] == [post]
