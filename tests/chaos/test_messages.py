"""Runs in which messages lead workers to jobs: what sends, what works and the broker are killed meanwhile."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from chaos import checker, ledger
from chaos.campaign import Result, Setup, run
from chaos.evidence import Leftovers, gather
from chaos.ground import Kind
from chaos.messages import passages, tap
from tenure.core.model.states import State
from tenure.engine.worker.named_claims import NamedClaims
from tenure.relay.messages import body
from tenure.relay.messages.inbox import Inbox
from tenure.relay.messages.sqs import SqsTransport
from tenure.storage.contract.store import Store
from tests.chaos.ledger_app import HANDLERS
from tests.chaos.worker_on_store import TERMS
from tests.relay.messages.conftest import queue, shared_server
from tests.relay.messages.led_worker import led_worker
from tests.relay.messages.sqs_server import Queue
from tests.storage.backends import SqliteBackend
from tests.until import until
from tests.whole import dealt
from tests.worker.running_worker import enqueue, reach

__all__ = ["queue", "shared_server"]

APP: dict[str, Any] = {"target": "tests.chaos.ledger_app:app", "handlers": HANDLERS}

SHORT = Setup(
    seed=7,
    store="sqlite",
    faults=("kill", "api"),
    seconds=3,
    calls=10,
    slack=20.0,
    workers=2,
    messages=True,
)
LONG = replace(SHORT, faults=("kill", "api", "broker"), seconds=30, calls=200, workers=3, rate=2.0)


async def played(setup: Setup, request: pytest.FixtureRequest, folder: Path) -> Result:
    """A run that broke nothing, in which messages led to jobs."""
    server = request.getfixturevalue("server") if setup.store == "postgres" else None
    result = await run(setup, folder, server)
    assert not result.violations, f"again: {setup.command}"
    assert result.quiet
    assert result.strikes
    assert result.counters["named"] > 10
    return result


@pytest.mark.parametrize("store", dealt(0))
async def test_no_promise_is_broken_by_messages_whoever_is_killed(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S2.30, S2.32, S2.40: sweeps are an hour apart; jobs recorded by the library are named by a worker."""
    result = await played(replace(SHORT, store=store), request, tmp_path / "run")
    assert result.counters["reminded"]


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_no_promise_is_broken_where_the_broker_loses_everything(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S2.30, S2.32."""
    result = await played(replace(LONG, store=store), request, tmp_path / "run")
    assert {strike.fault for strike in result.strikes} == {"kill", "api", "broker"}


class Bench:
    """A file, a queue, and what a worker led by it leaves behind."""

    def __init__(self, store: Store, backend: SqliteBackend, folder: Path, queue: Queue) -> None:
        self.backend = backend
        self._store, self._folder, self._queue = store, folder, queue

    async def work(self) -> UUID:
        """One job, by a message and a copy of it that comes while it runs."""
        params = {"ledger": str(self._folder / "ledger"), "end": str(self._folder / "end")}
        async with led_worker(self._store, self._queue.transport, **APP) as led:
            job = await enqueue(led.store, "work", params)
            await until(lambda: led.claims()["message"])
            await self._queue.put(body.written(job, await self._store.store_id()).decode())
            await until(lambda: led.received() == 2)
            (self._folder / "end").touch()
            await reach(self._store, job, State.SUCCEEDED)
        return job

    async def broken(self) -> set[str]:
        """The invariants that are broken by what there is."""
        backlog = await self._queue.transport.backlog()
        count = backlog.waiting + backlog.hidden
        evidence = await gather(
            self._store,
            replace(TERMS, slots=None, quiet=True),
            ledger=ledger.read(self._folder / "ledger", torn=True),
            leftovers=Leftovers(messages=[f"{count} of them"] if count else []),
            passages=passages.read(self._folder / "worker.passages"),
        )
        assert {one.kind for one in evidence.passages} >= {"got", "led"}
        return {violation.invariant for violation in checker.check(evidence)}


@pytest.fixture
async def bench(tmp_path: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """What the worker does with messages is written down, as in a run."""
    for owner, name in ((SqsTransport, "receive"), (SqsTransport, "acknowledge"), (NamedClaims, "claim")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # so that the test takes the tap off again
    tap.attach(tmp_path / "worker.passages")
    backend = SqliteBackend(tmp_path / "tenure.db")
    store = backend.store()
    await store.open()
    await store.migrate()
    yield Bench(store, backend, tmp_path, queue)
    await store.close()


async def test_a_sound_worker_removes_what_led_it_in_the_end(bench: Bench) -> None:
    await bench.work()
    assert await bench.broken() == set()


PLANTED = {
    "a worker that removes what it has claimed": {"I52"},
    "a worker that leaves what it has not claimed": {"I53"},
}


async def test_a_message_that_is_removed_before_the_end_is_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I52, by a worker that removes what it has claimed."""
    take = Inbox._take

    async def take_and_remove(self: Inbox, *given: Any) -> None:
        await take(self, *given)
        self._done.extend(self._held.values())
        self._held.clear()
        await self._answer()

    monkeypatch.setattr(Inbox, "_take", take_and_remove)
    await bench.work()
    assert await bench.broken() == {"I52"}


async def test_a_message_that_nobody_answers_for_is_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I53, by a worker that leaves what it has not claimed to its visibility."""

    async def answer_for_nothing(_self: Inbox) -> float:
        return 60.0

    monkeypatch.setattr(Inbox, "_answer", answer_for_nothing)
    await bench.work()
    assert await bench.broken() == {"I53"}


async def test_a_row_that_is_changed_by_hand_is_noticed(bench: Bench) -> None:
    """Beside messages everything else is judged as in every run."""
    await bench.work()
    await bench.backend.forge("UPDATE tenure.job_state SET attempt = attempt + 1")
    assert await bench.broken() == {"I8"}
