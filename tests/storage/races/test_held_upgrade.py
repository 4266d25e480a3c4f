"""Meetings with an upgrade: a newer version is held before it commits its migration, and an older one comes.

What the ledger says of who can read it (`reads_from`) decides whether the older one goes on. The migration
itself changes no table, so that nothing else can tell.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tenure.core.errors import SchemaMismatch
from tenure.core.model.job import NewJob
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.races.blocked_processes import PATIENCE
from tests.storage.races.requests import claims, enqueues, migrates, migrates_further, verifies
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import count


@pytest.fixture(autouse=True)
async def _ledger_is_put_back(backend: Backend) -> AsyncIterator[None]:
    """Tests share databases, and the next one's are of this version."""
    yield
    await backend.sql("DELETE FROM tenure.migration WHERE name = 'from_the_future'")


async def newest(stage: Stage) -> int:
    [(number,)] = await stage.backend.sql("SELECT max(number) FROM tenure.migration")
    return int(number)


async def test_an_older_process_that_migrates_meanwhile_learns_that_it_is_too_old(
    store: Store, stage: Stage
) -> None:
    known = await newest(stage)
    applied, refused = await stage.meet(migrates_further(known + 1), migrates())
    assert applied == "from_the_future"
    assert isinstance(refused, SchemaMismatch)
    assert f"has schema {known + 1}, which can be read from {known + 1} on" in str(refused)
    assert await count(stage.backend, "tenure.migration") == known + 1


async def test_an_older_process_that_opens_meanwhile_is_refused_from_the_commit_on(
    store: Store, stage: Stage
) -> None:
    """Before the commit nothing has changed, and it is not kept waiting."""
    known = await newest(stage)
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(migrates_further(known + 1))
        assert (await stage.bob.ask(verifies())).answer == (known, known)
        stage.alice.go()
        await stage.alice.done()
        assert isinstance((await stage.bob.ask(verifies())).answer, SchemaMismatch)


async def test_an_older_process_that_can_read_the_upgrade_goes_on(store: Store, stage: Stage) -> None:
    """It works while the migration is held, if the store lets two write; it opens and works afterwards."""
    known = await newest(stage)
    job = NewJob(definition="mail")
    _, [made] = await stage.meet(migrates_further(known), enqueues([job]), passes=True)
    assert (await stage.bob.ask(migrates())).answer == ()
    assert (await stage.bob.ask(verifies())).answer == (known + 1, known)
    [claimed] = (await stage.bob.ask(claims("b"))).answer.claimed
    assert claimed.lease.job == made.id
