"""Very many keys: what PostgreSQL goes through for each job does not grow with their number.

Its plans must be good whatever it knew of the tables when they were made: a joined table that was taken for
small would be read as a whole for every job.
"""

import pytest
from msgspec.structs import replace

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import NEWEST, PostgresBackend
from tests.storage.postgres.explained_store import FORGET, KNOWN, ROWS_KNOWN, ExplainedStore
from tests.storage.verbs import MAIL, succeeded
from tests.whole import IS_WHOLE

KEYS = 2_000
MOST_A_KEY = 150
"""Rows for each key, over all calls of a statement. All compared with all, they would be `KEYS` or more."""

MOST_IN_FEW_PAGES = 1_500
"""Planned anew, a table of few pages may be read as a whole, if it was known with less in each page: no more
than these rows for each key, however many keys there are."""

VERSIONS = ("postgres", NEWEST)
CASES = [
    pytest.param(version, known, pooled, id=f"{version}-{known}-{'pooled' if pooled else 'direct'}")
    for turn, known in enumerate(KNOWN)
    for pooled in ((False, True) if IS_WHOLE else (turn % 2 == 1,))
    for version in (VERSIONS if IS_WHOLE else [VERSIONS[turn // 2 % len(VERSIONS)]])
]
"""Each knowledge, and each way to connect on both versions; all with all in `make long`."""


def keyed(count: int, prefix: str = "") -> list[NewJob]:
    return [
        NewJob(definition="mail", limits=(Limit("tenant", f"{prefix}{n}", size=2),)) for n in range(count)
    ]


@pytest.mark.parametrize(("database_kind", "known", "pooled"), CASES, indirect=["database_kind"])
async def test_a_job_costs_the_same_however_many_keys_there_are(
    backend: PostgresBackend, store: PostgresStore, known: str, pooled: bool
) -> None:
    """To enqueue, to look for places, to claim, to settle and to hand back."""
    await backend.forge(FORGET)
    if known in ROWS_KNOWN:
        await store.enqueue(keyed(ROWS_KNOWN[known], "before"))
        await backend.sql("ANALYZE")
    explained = ExplainedStore(backend.dsn, pooled=pooled)
    await explained.open()
    for _ in range(2):
        await explained.enqueue(keyed(KEYS))
        if known == "all":
            await backend.sql("ANALYZE")

    order = Order(worker="a", lines=(MAIL,), limit=200)
    turn = await explained.settle_and_claim([], order)
    for _ in range(4):
        turn = await explained.settle_and_claim([succeeded(owned) for owned in turn.claimed], order)
        assert len(turn.claimed) == 200
    await explained.hand_back("a", unstarted=[owned.lease for owned in turn.claimed], killed=[])
    await explained.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=(MAIL,)))
    assert (await explained.outlook([MAIL, Line("default", "other")])).waiting
    await explained.lines()
    await explained.limits()
    await explained.close()

    most = MOST_A_KEY + (MOST_IN_FEW_PAGES if pooled and known == "that they held one row" else 0)
    assert {name: rows / KEYS for name, rows in explained.rows.items() if rows > most * KEYS} == {}


@pytest.mark.parametrize("waiting", [(0, 1), (0, 49)], ids=["side by side", "far apart"])
async def test_a_look_knows_the_room_of_keys_however_far_apart_they_are(
    store: PostgresStore, backend: PostgresBackend, waiting: tuple[int, ...]
) -> None:
    """Limits that are nearly all wanted are read in a row, a few of very many are looked up."""
    jobs = keyed(50)
    await store.enqueue(jobs)
    order = Order(worker="a", lines=(MAIL,), limit=50)
    turn = await store.settle_and_claim([], order)
    await store.settle_and_claim([succeeded(owned) for owned in turn.claimed], replace(order, limit=0))
    await store.enqueue([jobs[key] for key in waiting for _ in range(3)])

    new = backend.store()
    await new.open()
    assert len((await new.settle_and_claim([], order)).claimed) == 2 * len(waiting)
    assert not (await new.settle_and_claim([], order)).claimed
    await new.close()
