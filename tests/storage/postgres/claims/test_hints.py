"""Hints that name the places of new jobs: an idle worker claims there without a look-up."""

from collections.abc import AsyncIterator

import pytest

from tenure.core.model.lease import Claimed, Line, Order
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import PauseScope
from tenure.storage.contract.store import Wakeups
from tenure.storage.postgres.claims import freshness
from tenure.storage.postgres.claims.hints import MOST, Hints, decode_places, encode_places
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.test_round_trips import SentStatements, watch
from tests.storage.verbs import MAIL, claim, enqueue_one, fall_asleep, settle, succeeded, woken
from tests.until import until

POST = Line("default", "post")
LINES = (MAIL, POST)


class Idle:
    """A worker that has run one job of each line, receives hints, and has found no more jobs."""

    def __init__(self, store: PostgresStore, wakeups: Wakeups) -> None:
        self.store = store
        self.wakeups = wakeups

    async def settle_down(self) -> None:
        await fall_asleep(self.wakeups)
        assert await claim(self.store, lines=LINES) == []

    async def end(self, owned: Claimed) -> list[Claimed]:
        """Settle one job; returns what it claims in the same turn."""
        order = Order(worker="a", lines=LINES, limit=10)
        turn = await self.store.settle_and_claim([succeeded(owned)], order)
        assert list(turn.settled.accepted) == [owned.lease]
        return list(turn.claimed)

    async def claim_hinted(self) -> list[str]:
        """The definitions of the jobs that it claims after a hint."""
        assert await woken(self.wakeups)
        return [owned.definition for owned in await claim(self.store, lines=LINES)]


@pytest.fixture
async def idle(backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Idle]:
    monkeypatch.setattr(freshness, "WORTH", 0)  # even on a slow machine no look-up counts as slow
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    async with store.listen() as wakeups:
        for definition in ("mail", "post"):
            await enqueue_one(store, definition)
        await settle(store, [succeeded(one) for one in await claim(store, lines=LINES)])
        worker = Idle(store, wakeups)
        await worker.settle_down()
        yield worker
    await store.close()


def test_a_hint_names_a_few_places_or_none() -> None:
    """In the order of serving; after a hint without places, or with too many, none is named."""
    hints = Hints()
    hints.add([(7, 3), (12, -5)])
    hints.add([(7, 3)])
    assert (taken := hints.take()) == [(12, -5), (7, 3)]
    assert decode_places(encode_places(taken)) == taken
    assert hints.take() == []
    for vague in ([], [(line, 0) for line in range(MOST + 1)]):
        hints.add([(7, 3)])
        hints.add(vague)
        hints.add([(8, 3)])
        assert hints.take() == []
    assert [decode_places(text) for text in ("", "7", "7/", "a/0", "7/0 ", "7/0;x", "٧/0")] == [[]] * 7


@pytest.mark.parametrize(("definition", "priority"), [("mail", 0), ("post", 0), ("mail", 5)])
async def test_a_job_that_comes_to_an_idle_worker_is_claimed_in_one_statement(
    idle: Idle, store: PostgresStore, definition: str, priority: int
) -> None:
    sent = await watch(idle.store)
    await enqueue_one(store, definition, priority=priority)
    assert await idle.claim_hinted() == [definition]
    assert await sent.count() == 1


async def test_a_job_of_its_own_process_is_claimed_without_a_look(idle: Idle) -> None:
    sent = await watch(idle.store)
    await enqueue_one(idle.store)
    assert await idle.claim_hinted() == ["mail"]
    assert not any("RECURSIVE" in text for text in await sent.statements())


@pytest.mark.parametrize(
    "paused",
    [
        MAIL,
        "default",
        PauseScope(definition="mail"),
        PauseScope("default", "mail"),
        PauseScope("", "mail", 1),
    ],
    ids=("line", "queue", "definition", "definition in a queue", "version"),
)
async def test_nothing_is_claimed_from_a_line_that_was_paused_meanwhile(
    idle: Idle, store: PostgresStore, paused: Line | str | PauseScope
) -> None:
    """Paused itself, with its queue, or with its definition, wherever that is."""
    await store.pause(paused)
    await idle.settle_down()
    await enqueue_one(store)
    assert await idle.claim_hinted() == []
    await store.resume(paused)
    assert await idle.claim_hinted() == ["mail"]


async def test_a_number_that_stands_for_another_line_by_now_is_not_trusted(
    idle: Idle, store: PostgresStore, backend: PostgresBackend
) -> None:
    """The database was created anew: the worker claims by the line that has the number now."""
    await backend.sql("UPDATE tenure.line SET queue = 'parked' WHERE definition = 'mail'")
    await backend.sql("UPDATE tenure.line SET definition = 'mail' WHERE definition = 'post'")
    store = backend.store()
    await store.open()
    await enqueue_one(store)
    assert await idle.claim_hinted() == ["mail"]
    await store.close()


async def test_jobs_under_limits_are_looked_for(idle: Idle, store: PostgresStore) -> None:
    """No more begin than their limit allows."""
    for _ in range(2):
        await enqueue_one(store, limits=(Limit("api", size=1),))
    assert await idle.claim_hinted() == ["mail"]
    assert await claim(idle.store, lines=LINES) == []


async def test_who_was_not_told_of_a_job_finds_it_at_the_next_claim(
    idle: Idle, store: PostgresStore, backend: PostgresBackend
) -> None:
    """Its hint was lost, and another one leads elsewhere."""
    silent = PostgresStore(backend.dsn, notify=False)
    await silent.open()
    await enqueue_one(silent, "post")
    await silent.close()
    await enqueue_one(store)
    assert await idle.claim_hinted() == ["mail"]
    assert [owned.definition for owned in await claim(idle.store, lines=LINES)] == ["post"]


async def turns_until(sent: SentStatements, settled: int) -> int:
    """How many statements a worker has waited for until it had settled so often.

    The driver logs a moment after it answers. The hint that a job has ended goes its own way.
    """
    texts = await sent.statements()
    await until(lambda: sum("given AS" in text for text in texts) == settled)
    return sum(not text.startswith("NOTIFY") for text in texts)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up is trusted however slow the machine is."""
    monkeypatch.setattr(freshness, "FRESH_FOR", 600.0)


@pytest.mark.usefixtures("trusted")
async def test_a_lone_job_costs_a_worker_two_round_trips(idle: Idle, store: PostgresStore) -> None:
    """To claim and to settle it: no look-up, as long as hints arrive and all lines were found empty."""
    sent = await watch(idle.store)
    for _ in range(3):
        await enqueue_one(store)
        assert await woken(idle.wakeups)
        [owned] = await claim(idle.store, lines=LINES)
        assert await idle.end(owned) == []
    assert await turns_until(sent, settled=3) == 6


@pytest.mark.usefixtures("trusted")
async def test_jobs_that_come_one_after_another_cost_one_round_trip_each(
    idle: Idle, store: PostgresStore
) -> None:
    """Each is claimed in the statement that settles the one before."""
    await enqueue_one(store)
    assert await woken(idle.wakeups)
    [owned] = await claim(idle.store, lines=LINES)
    sent = await watch(idle.store)
    for _ in range(4):
        await enqueue_one(store)
        assert await woken(idle.wakeups)
        [owned] = await idle.end(owned)
    assert await turns_until(sent, settled=4) == 4


@pytest.mark.usefixtures("trusted")
async def test_a_turn_that_settles_claims_nothing_from_a_line_that_was_paused_meanwhile(
    idle: Idle, store: PostgresStore
) -> None:
    """The hint of the pause names no place, so a look-up comes first, then and for each hint of a place."""
    for _ in range(2):
        await enqueue_one(store)
        assert await woken(idle.wakeups)
    first, second = await claim(idle.store, lines=LINES)
    await store.pause(MAIL)
    assert await woken(idle.wakeups)
    assert await idle.end(first) == []
    await enqueue_one(store)
    assert await woken(idle.wakeups)
    assert await idle.end(second) == []
    await store.resume(MAIL)
    assert await idle.claim_hinted() == ["mail"]


@pytest.mark.parametrize(("trusted_for", "found"), [(600.0, []), (0.0, ["post"])])
async def test_a_worker_that_lives_by_hints_looks_up_lines_now_and_then(
    idle: Idle,
    store: PostgresStore,
    backend: PostgresBackend,
    monkeypatch: pytest.MonkeyPatch,
    trusted_for: float,
    found: list[str],
) -> None:
    """A job whose hint was lost is found once the last look-up is no longer trusted."""
    monkeypatch.setattr(freshness, "FRESH_FOR", 600.0)
    await enqueue_one(store)
    assert await woken(idle.wakeups)
    [owned] = await claim(idle.store, lines=LINES)
    silent = PostgresStore(backend.dsn, notify=False)
    await silent.open()
    await enqueue_one(silent, "post")
    await silent.close()
    monkeypatch.setattr(freshness, "FRESH_FOR", trusted_for)
    assert [one.definition for one in await idle.end(owned)] == found
