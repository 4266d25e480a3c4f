"""Which form of the statement a turn takes, and that a choice by outdated knowledge does no harm."""

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line, Order
from tenure.core.model.limit import Limit
from tenure.storage.postgres.claims import statement_choice
from tenure.storage.postgres.claims.statement_choice import BARE, CLAIMING, FULL, PASSING, StatementChoice
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.conftest import each_version
from tests.storage.races.record_check import faults
from tests.storage.verbs import MAIL, claim, fall_asleep, recoverable, succeeded, woken

database_kind = each_version
API = Limit("api", size=4)
POST = Line("default", "post")
ORDER = Order(worker="a", lines=(MAIL,), limit=9)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The forms that were chosen."""
    made: list[str] = []
    choose = StatementChoice.choose

    def noted(*given: object, **named: bool) -> str:
        made.append(choose(*given, **named))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(StatementChoice, "choose", noted)
    return made


async def in_line(store: PostgresStore, number: int, *limits: Limit, definition: str = "mail") -> None:
    await store.enqueue([NewJob(definition=definition, limits=limits) for _ in range(number)])


async def turned(store: PostgresStore, ended: list[Claimed], order: Order = ORDER) -> list[Claimed]:
    turn = await store.settle_and_claim([succeeded(one) for one in ended], order)
    assert turn.settled.lost == []
    return list(turn.claimed)


async def held(store: PostgresStore) -> list[int]:
    return [use.held for use in await store.limits()]


def test_a_claim_is_remembered_by_what_all_its_jobs_stand_under() -> None:
    known = StatementChoice()
    known.note({1}, {()})
    known.note({2}, {(7,)})
    known.note({3}, {(), (7,)})
    assert known.choose([1], {()}, passes=True) == BARE
    assert known.choose([2], {(7,)}, passes=True) == PASSING
    assert known.choose([2], {(7,)}, passes=False) == FULL
    assert known.choose([3], {(7,)}, passes=True) == FULL
    assert known.choose([1], {(7,)}, passes=True) == FULL
    known.note({2}, {()})
    assert known.choose([1, 2], set(), passes=True) == BARE
    assert known.choose([], {()}, passes=True) == CLAIMING
    assert known.choose([], {(7,)}, passes=True) == FULL


def test_only_so_many_claims_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_choice, "MOST_FENCES", 2)
    known = StatementChoice()
    for fence in range(3):
        known.note({fence}, {()})
    assert [known.choose([fence], set(), passes=True) == BARE for fence in range(3)] == [False, True, True]


async def test_slots_that_pass_from_job_to_job_are_not_written(
    store: PostgresStore, backend: PostgresBackend, chosen: list[str]
) -> None:
    """However many jobs begin as others end: under each of several limits, in turns of any size."""
    await in_line(store, 40, API, Limit("disk", size=4))
    running = await turned(store, [])
    written = await backend.sql("SELECT limited, n, xmin FROM tenure.slot ORDER BY limited, n")

    for ended in (4, 1, 3, 4):
        running = running[ended:] + await turned(store, running[:ended])
        assert len(running) == 4

    assert chosen == [FULL, PASSING, PASSING, PASSING, PASSING]
    assert await backend.sql("SELECT limited, n, xmin FROM tenure.slot ORDER BY limited, n") == written
    assert await held(store) == [4, 4]
    assert await faults(backend) == []


async def test_what_is_not_passed_on_is_free(
    store: PostgresStore, backend: PostgresBackend, chosen: list[str]
) -> None:
    """Two jobs are left for four slots; then none."""
    await in_line(store, 6, API)
    running = await turned(store, [])
    running = await turned(store, running)
    assert (len(running), await held(store)) == (2, [2])
    assert await faults(backend) == []
    assert await turned(store, running) == []
    assert await held(store) == [0]
    assert FULL not in chosen[1:]


async def test_a_limit_that_another_lowers_is_kept(
    store: PostgresStore, backend: PostgresBackend, chosen: list[str]
) -> None:
    """This store has not heard of it: nothing is passed on until no more jobs run than the limit allows."""
    await in_line(store, 20, API)
    running = await turned(store, [])
    other = backend.store()
    await other.open()
    await other.set_limit("api", 2)
    await other.close()
    running = running[1:] + await turned(store, running[:1])
    assert chosen == [FULL, PASSING]
    assert (len(running), await held(store)) == (3, [3])
    while len(chosen) < 12:
        running = running[1:] + await turned(store, running[:1])
        assert await held(store) == [len(running)] == [min(len(running), 2)]
        assert await faults(backend) == []
    await store.resume(MAIL)  # which makes a look-up due, as it would be within a second
    assert len(await turned(store, running)) == 2
    assert chosen[-1] == PASSING


async def test_room_that_is_taken_again_at_once_wakes_nobody(store: PostgresStore) -> None:
    """Neither here nor elsewhere; room that is left does."""
    await in_line(store, 7, API)
    running = await turned(store, [])
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        running = running[3:] + await turned(store, running[:3])
        assert not await wakeups.wait(0.1)
        await turned(store, running[:1])
        assert await woken(wakeups)


async def test_slots_go_to_jobs_of_another_line_under_the_same_limits(
    store: PostgresStore, backend: PostgresBackend, chosen: list[str]
) -> None:
    await in_line(store, 4, API)
    await in_line(store, 4, API, definition="post")
    order = Order(worker="a", lines=(MAIL, POST), limit=9)
    running = await turned(store, [], order)
    again = await turned(store, running, order)
    assert (len(running), len(again)) == (4, 4)
    assert chosen == [FULL, PASSING]
    assert await faults(backend) == []


async def test_slots_of_another_limit_are_not_passed_on(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    """Slots of another limit are given back too: these are freed, and no job gets them by mistake."""
    await in_line(store, 9, API)
    await in_line(store, 9, Limit("disk", size=4), definition="post")
    mail, post = await claim(store, limit=4), await claim(store, limit=4, lines=[POST])
    store._choice.note(
        {one.lease.fence for one in (*mail, *post)}, {store._scans.of((MAIL,)).known[1].limits}
    )
    turn = await store.settle_and_claim([succeeded(mail[0]), *map(recoverable, post)], ORDER)
    assert turn.settled.lost == []
    assert len(turn.claimed) <= 1
    assert await held(store) == [3 + len(turn.claimed), 0]
    assert await faults(backend) == []
