"""A server serializes all commits that notify: those of other programs fail no enqueue."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.storage.faults.conftest import Opener, migrate
from tests.storage.faults.outages import BOUND
from tests.storage.faults.own_server import OwnServer
from tests.storage.verbs import enqueue_one
from tests.until import until

NOBODY: dict[str, object] = {"synchronous_standby_names": "nobody", "synchronous_commit": "local"}
"""A commit that wants a second copy waits for it without end; others do not want one."""

IN_COMMIT = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@pytest.fixture(scope="module")
def lonely() -> Iterator[OwnServer]:
    """A server on which a commit may take long."""
    with OwnServer(settings=NOBODY) as server:
        yield server


@pytest.fixture
async def dsn(lonely: OwnServer) -> AsyncIterator[str]:
    """A database there, while an unrelated session notifies and takes long to commit."""
    dsn = lonely.create_database("notified")
    await migrate(dsn)
    slow, looker = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    await slow.execute("SET synchronous_commit = on")
    committing = asyncio.create_task(slow.execute("CREATE TABLE own (); NOTIFY own"))
    await until(lambda: looker.fetch(IN_COMMIT), BOUND)
    yield dsn
    await looker.execute("SELECT pg_cancel_backend($1)", slow.get_server_pid())
    await committing
    await slow.close()
    await looker.close()


async def test_others_who_notify_and_take_long_to_commit_hold_up_no_job(opened: Opener, dsn: str) -> None:
    """Neither one without a key, which would wait as long as they do, nor one with a key."""
    for key in (None, "first"):
        store = await opened(dsn, timeout=BOUND, notify=True)
        assert store._wakeups.along_with_commit() is not None
        async with asyncio.timeout(BOUND / 2):
            await enqueue_one(store, key=key)
