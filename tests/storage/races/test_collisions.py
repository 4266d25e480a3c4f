"""Collisions: two processes want the same jobs at once, again and again, and neither waits in a circle."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from tenure.core.errors import StoreError
from tests.storage.backends import NEWEST, Backend, PostgresBackend, SqliteBackend, server_for
from tests.storage.clock import Clock
from tests.storage.postgres.lock_waits import deadlocks, strangers
from tests.storage.races.collision import Ground, Pair
from tests.storage.races.record_check import faults
from tests.storage.races.two_processes import Done, Stage, acting
from tests.storage.races.verb_pairs import PAIRS

COLLISIONS = int(os.environ.get("TENURE_TEST_COLLISIONS", "0"))
"""How often each pair collides, in the long form."""

USUALLY = {"postgres": 12, "sqlite": 4}
"""Locks in no order have met in a circle in every second collision: twelve miss one in thousands.
The long form looks for what is rarer.

On SQLite there is one writer at a time, so that no process can wait in a circle.

A second version of PostgreSQL is for the long form: what few rounds find on one, they find on the other.
"""

KINDS = (*USUALLY, NEWEST) if COLLISIONS else tuple(USUALLY)


@pytest.fixture
async def backend(
    request: pytest.FixtureRequest, database_kind: str, tmp_path: Path
) -> AsyncIterator[Backend]:
    """A database to which no connection is kept: the deadlocks of one count for certain after its end."""
    made: Backend
    if database_kind == "sqlite":
        made = SqliteBackend(tmp_path / "tenure.db")
    else:
        made = PostgresBackend(server_for(request, database_kind))
    await made.prepare()
    yield made
    await made.dispose()


@asynccontextmanager
async def no_deadlock(backend: Backend) -> AsyncIterator[None]:
    """The server's count is read, since a deadlock that was retried would not show otherwise."""
    if not isinstance(backend, PostgresBackend):
        yield
        return
    idle = await strangers(backend)
    yield
    assert await deadlocks(backend, beside=idle) == 0


@asynccontextmanager
async def ground_on(backend: Backend, clock: Clock, seed: int) -> AsyncIterator[Ground]:
    store = backend.store()
    await store.open()
    try:
        yield Ground(store, clock, Random(seed), backend)
    finally:
        await store.close()


def overlap(one: Done, two: Done) -> bool:
    return one.began < two.ended and two.began < one.ended


@pytest.mark.parametrize("database_kind", KINDS, indirect=True)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__)
async def test_collisions_leave_whole_histories_and_no_deadlock(
    database_kind: str, backend: Backend, clock: Clock, pair: Pair
) -> None:
    """Only rounds in which both calls overlap are counted.

    Both have an answer each time, and the answers agree; only a key may be too busy. In the end every history
    is without a gap, takes only steps of the table and ends once, and no job is where no verb looks for it.
    """
    async with (
        no_deadlock(backend),
        ground_on(backend, clock, seed=1) as ground,
        acting(backend, "alice") as alice,
        acting(backend, "bob") as bob,
    ):
        stage, met = Stage(backend, alice, bob), 0
        wanted = COLLISIONS or USUALLY[database_kind]
        while met < wanted:
            collision = await pair(ground)
            one, two = await stage.race(collision.one, collision.two, bob_leads=met % 2 == 1)
            answers = one.answer, two.answer
            if not any(isinstance(answer, collision.excused) for answer in answers):
                assert not [answer for answer in answers if isinstance(answer, StoreError)]
                assert collision.agree(*answers), answers
                await collision.afterwards(*answers)
            met += overlap(one, two)
    assert await faults(backend) == []
