"""Places that are kept from claim to claim, where there are very many lines: nothing is missed for it."""

from pathlib import Path

import apsw
import pytest

from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tenure.storage.sqlite import known_places
from tests.storage.backends import SqliteBackend
from tests.storage.verbs import claim, enqueue_one, settle, succeeded

LINES = 3 * known_places.MANY
ORDER = tuple(Line("default", f"d{number:04}") for number in range(LINES))


@pytest.fixture
def database_kind() -> str:
    return "sqlite"


async def fill(store: Store, each: int = 2, priority: int = 0) -> None:
    """Jobs in very many lines, which a first claim of one job makes known."""
    for _ in range(each):
        await store.enqueue(
            [NewJob(definition=line.definition, queue=line.queue, priority=priority) for line in ORDER]
        )
    assert len(await claim(store, limit=1, lines=ORDER)) == 1


async def test_lines_take_turns(store: Store) -> None:
    await fill(store)
    served = [one.definition for _ in ORDER[1:] for one in await claim(store, limit=1, lines=ORDER)]
    assert len(set(served)) == LINES - 1


@pytest.mark.parametrize("by", ["store", "other"])
async def test_an_urgent_job_goes_first_whoever_put_it_in_line(
    store: Store, backend: SqliteBackend, by: str
) -> None:
    """Though it stands at a place that no walk has found."""
    await fill(store)
    other = backend.store()
    await other.open()
    urgent = await enqueue_one(other if by == "other" else store, "d0007", priority=9)
    await other.close()
    assert [one.lease.job for one in await claim(store, limit=1, lines=ORDER)] == [urgent]


async def test_a_claim_is_filled_though_another_process_has_emptied_known_places(
    store: Store, backend: SqliteBackend
) -> None:
    await fill(store)
    other = backend.store()
    await other.open()
    taken = await claim(other, limit=2 * LINES - 101, lines=ORDER)
    assert len(taken) == 2 * LINES - 101
    await other.close()
    assert len(await claim(store, limit=200, lines=ORDER)) == 100
    assert await claim(store, limit=200, lines=ORDER) == []


async def test_nothing_is_claimed_from_a_line_that_was_paused_meanwhile(store: Store) -> None:
    await fill(store)
    await store.pause(ORDER[5])
    claimed = await claim(store, limit=2 * LINES, lines=ORDER)
    assert len(claimed) == 2 * LINES - 1 - 2
    assert ORDER[5].definition not in {one.definition for one in claimed}
    await store.resume(ORDER[5])
    assert {one.definition for one in await claim(store, limit=9, lines=ORDER)} == {ORDER[5].definition}


async def test_a_claim_that_was_rolled_back_has_taken_nothing(store: Store, backend: SqliteBackend) -> None:
    """The next one finds every job that was there before."""
    await fill(store)
    await backend.sql("ALTER TABLE tenure_lease RENAME TO elsewhere")
    with pytest.raises(StoreError):
        await claim(store, limit=LINES, lines=ORDER)
    await backend.sql("ALTER TABLE elsewhere RENAME TO tenure_lease")
    assert len(await claim(store, limit=3 * LINES, lines=ORDER)) == 2 * LINES - 1


async def test_the_most_urgent_of_many_priorities_goes_first(store: Store) -> None:
    """Of each line more priorities than one walk goes through."""
    priorities = range(known_places.FRONT + 4)
    for priority in priorities:
        await store.enqueue([NewJob(definition=line.definition, priority=priority) for line in ORDER])
    claimed = list[int]()
    while taken := await claim(store, limit=LINES, lines=ORDER):
        jobs = [(await store.get(one.lease.job)) for one in taken[:1]]
        claimed += [job.priority for job in jobs if job is not None]
        await settle(store, [succeeded(one) for one in taken])
    assert claimed[0] == priorities[-1]
    assert len(claimed) == len(priorities)


@pytest.mark.parametrize("by", ["keys", "definitions"])
async def test_a_claim_of_ten_thousand_lines_costs_no_more_than_twice_one_of_ten(
    tmp_path: Path, by: str
) -> None:
    """In steps of SQLite, once the places are known; the walk before that is not the square of the lines."""
    few, many = [
        await steps_of_claims(tmp_path / f"{len(kinds)}.db", kinds)
        for kinds in (of_kinds(by, 10), of_kinds(by, 10_000))
    ]
    assert many[1] < 2 * few[1]
    assert many[0] < 300 * 10_000


def of_kinds(by: str, number: int) -> list[NewJob]:
    """So many jobs, each in a line of its own."""
    if by == "keys":
        return [NewJob(definition="mail", limits=(Limit("tenant", str(key), 10),)) for key in range(number)]
    return [NewJob(definition=f"d{n}") for n in range(number)]


async def steps_of_claims(path: Path, kinds: list[NewJob]) -> list[int]:
    """What SQLite does for a first claim of a worker that serves all these, and for the next one."""
    backend = SqliteBackend(path)
    await backend.prepare()
    counted = list[int]()

    def count(connection: apsw.Connection) -> None:
        connection.trace_v2(
            apsw.SQLITE_TRACE_PROFILE,
            lambda run: counted.append(run["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
        )

    apsw.connection_hooks.append(count)
    store = backend.store()
    await store.open()
    lines = tuple({job.definition: Line("default", job.definition) for job in kinds}.values())
    await store.enqueue([kinds[number % len(kinds)] for number in range(10_000)])
    steps = []
    for _ in range(2):
        counted.clear()
        assert len(await claim(store, lines=lines)) == 10
        steps.append(sum(counted))
    await store.close()
    apsw.connection_hooks.remove(count)
    await backend.dispose()
    return steps
