"""Recording all jobs of a call or none: a key that belongs to something else keeps every other one out."""

import asyncio
from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import Enqueued, KeysTaken, NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.verbs import EVERY_JOB, count, enqueue_one

MAIL = NewJob(definition="mail")
KEYED = NewJob(definition="mail", key="k")
UNLIKE = NewJob(definition="mail", key="k", params=Document('{"to":"b"}'))


async def test_jobs_that_nobody_stands_in_the_way_of_are_recorded(store: Store, backend: Backend) -> None:
    """As any others, the same key with the same work included."""
    first = await enqueue_one(store, key="k")
    answers = await store.enqueue_strictly([MAIL, KEYED, NewJob(definition="mail", hold=True)])
    assert not isinstance(answers, KeysTaken)
    assert [(answer.state, answer.fresh) for answer in answers] == [
        (State.QUEUED, True),
        (State.QUEUED, False),
        (State.CREATED, True),
    ]
    assert answers[1].id == first
    assert await count(backend, "tenure.job") == await count(backend, "tenure.job_state") == 3
    assert await store.enqueue_strictly([]) == []


async def test_a_key_of_something_else_keeps_all_out(store: Store, backend: Backend) -> None:
    """Nothing stays behind: no row, no place in line, no total."""
    first = await enqueue_one(store, key="k")
    before = await store.lines()
    assert await store.enqueue_strictly([MAIL, UNLIKE, MAIL]) == KeysTaken({1: first})
    for table, rows in {"job": 1, "job_state": 1, "ready": 1}.items():
        assert await count(backend, f"tenure.{table}") == rows
    assert await store.lines() == before
    assert [job.id for job in (await store.page(EVERY_JOB)).jobs] == [first]


async def test_what_the_caller_knows_is_in_nobodys_way(store: Store) -> None:
    first = await enqueue_one(store, key="k")
    answers = await store.enqueue_strictly([UNLIKE, MAIL], known={first})
    assert not isinstance(answers, KeysTaken)
    assert answers[0] == Enqueued(first, State.QUEUED, fresh=False, matches=False)
    assert answers[1].fresh


async def test_two_wishes_under_one_key_are_refused_in_one_call(store: Store) -> None:
    assert await store.enqueue_strictly([KEYED, MAIL, UNLIKE]) == KeysTaken({2: None})
    assert not (await store.page(EVERY_JOB)).jobs


async def test_an_id_that_is_taken_keeps_all_out(store: Store) -> None:
    mine = uuid4()
    await enqueue_one(store, id=mine)
    unlike = NewJob(definition="fax", id=mine)
    assert await store.enqueue_strictly([MAIL, unlike]) == KeysTaken({1: mine})


async def test_of_many_at_once_one_is_recorded(store: Store, other: Store, backend: Backend) -> None:
    """S0.56: the database decides, and the others leave nothing behind."""
    calls = [
        place.enqueue_strictly([MAIL, NewJob(definition="mail", key="k", params=Document(f'{{"n":{n}}}'))])
        for n, place in enumerate([store, other] * 10)
    ]
    answers = await asyncio.gather(*calls)
    [made] = [answer for answer in answers if not isinstance(answer, KeysTaken)]
    assert {answer.by[1] for answer in answers if isinstance(answer, KeysTaken)} == {made[1].id}
    assert await count(backend, "tenure.job") == 2


async def test_too_many_are_refused(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.enqueue_strictly([MAIL] * 10_001)
