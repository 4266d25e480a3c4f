"""Very many lines: the rows that PostgreSQL reads grow linearly at most, and for a turn not at all."""

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.reading import Filter
from tenure.storage.postgres.claims.statement_choice import PASSING
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.explained_store import FORGET, KNOWN, ROWS_KNOWN, ExplainedStore
from tests.storage.verbs import claim, succeeded

LINES = tuple(Line(f"q{n % 7}", f"d{n}") for n in range(10_000))
SERVED = LINES[-2:]
API = Limit("api", size=20)


@pytest.mark.parametrize("known", KNOWN)
async def test_what_is_gone_through_does_not_grow_beyond_the_lines(
    backend: PostgresBackend, store: PostgresStore, known: str
) -> None:
    """Totals, pauses, workers and places are joined with lines by index, never all with all.

    That holds whatever PostgreSQL knew of the tables when it made its plans.
    """
    await backend.forge(FORGET)
    if known in ROWS_KNOWN:
        await store.enqueue([NewJob(definition=f"before{n}") for n in range(ROWS_KNOWN[known])])
        await backend.sql("ANALYZE")
    for lines in (LINES, SERVED * 40):
        await store.enqueue(
            [NewJob(queue=line.queue, definition=line.definition, limits=(API,)) for line in lines]
        )
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=LINES))
    for line in LINES[:500]:
        await store.pause(line)
    if known == "all":
        await backend.sql("ANALYZE")
    explained = ExplainedStore(backend.dsn)
    await explained.open()

    assert len(await explained.lines()) == len(LINES) + ROWS_KNOWN.get(known, 0)
    assert len((await explained.page(Filter(queue="q3"))).jobs) == 50
    await explained.counts(Filter(queue="q3"))
    running = await claim(explained, limit=20, lines=SERVED)
    order = Order(worker="a", lines=SERVED, limit=20)
    turn = await explained.settle_and_claim([succeeded(one) for one in running], order)
    await explained.close()

    assert (len(running), len(turn.settled.accepted), len(turn.claimed)) == (20, 20, 20)
    assert explained.rows.pop(PASSING) < 5_000
    assert {name: rows for name, rows in explained.rows.items() if rows > 100 * len(LINES)} == {}
    assert explained.rows["lines"] > len(LINES)
