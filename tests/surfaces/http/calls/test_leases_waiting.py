"""Who asks for jobs may wait for one: it comes at once, and is claimed for nobody who has gone."""

import asyncio
import time
from contextlib import suppress
from uuid import uuid4

import msgspec
import pytest

from tenure.core.model.states import State
from tenure.core.reports.access import AuditEntry
from tenure.engine.client import completions
from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext
from tests.storage.verbs import enqueue_one, found, path_of, state_of
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import PATIENCE, Api, Reply, register, request, serving
from tests.surfaces.http.http_worker import MAIL, ask, lease
from tests.surfaces.store_behind import MAIL as SPEC
from tests.until import until


def waiters(api: Api) -> int:
    """How many wait for jobs at present."""
    context: AppContext = api.server._context
    return context.waits._taken.total()


async def waiting_for(api: Api, number: int = 1, **body: object) -> list[asyncio.Task[Reply]]:
    """So many workers that wait."""
    tasks = [asyncio.create_task(ask(api, f"node-{n}", wait=30, **body)) for n in range(number)]
    await until(lambda: waiters(api) == number)
    return tasks


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks without a hint."""
    monkeypatch.setattr("tenure.engine.client.arrivals.SAFETY_POLL", 3600.0)
    monkeypatch.setattr(completions, "SAFETY_POLL", 3600.0)


@pytest.mark.usefixtures("unhurried")
async def test_a_worker_that_waits_is_woken_by_a_job(api: Api, store: Store) -> None:
    """By a hint of the store's, and not by looking again and again."""
    [waits] = await waiting_for(api)
    async with asyncio.timeout(PATIENCE):
        while not waits.done():  # a hint may be lost, as the one before anybody listened
            await enqueue_one(store)
            await asyncio.wait([waits], timeout=1.0)
    [held] = (await waits).json["leases"]
    assert held["definitionKey"] == "mail"


async def test_one_job_is_for_one_of_those_who_wait(api: Api, store: Store) -> None:
    waits = await waiting_for(api, 5)
    job = await enqueue_one(store)
    done, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
    [held] = next(iter(done)).result().json["leases"]
    assert held["jobId"] == str(job)
    assert len(left) == 4
    for _ in range(4):
        await enqueue_one(store)
    assert [len(reply.json["leases"]) for reply in await asyncio.gather(*left)] == [1] * 4


async def test_nothing_comes_of_a_wait_that_is_over(api: Api) -> None:
    began = time.monotonic()
    shown = (await ask(api, wait=0.3)).json
    assert shown == {"leases": [], "waitedSeconds": shown["waitedSeconds"], "drain": False}
    assert 0.3 <= shown["waitedSeconds"] <= time.monotonic() - began


async def test_who_has_waited_is_told_since_when_the_lease_runs(api: Api, store: Store) -> None:
    """By its own clock, from when it asked: so long it was surely not claimed."""
    began = time.monotonic()
    [waits] = await waiting_for(api)
    await enqueue_one(store)
    shown = (await waits).json
    assert 0 < shown["waitedSeconds"] <= time.monotonic() - began
    await enqueue_one(store)
    assert (await ask(api, wait=30)).json["waitedSeconds"] == 0


async def test_nothing_is_claimed_for_who_has_gone_while_it_waited(api: Api, store: Store) -> None:
    body = msgspec.json.encode({"workerId": "gone", "definitions": [MAIL]})
    form = {"Content-Type": "application/json"}
    data = request(path="/v1/leases?waitSeconds=30", headers=form, body=body)
    async with api.wire() as wire:
        await wire.send(data)
        await until(lambda: waiters(api) == 1)
    async with asyncio.timeout(15):  # well before the wait would have ended by itself
        await until(lambda: waiters(api) == 0)
    job = await enqueue_one(store)
    [held] = await lease(api, wait=30)
    assert (held.job, held.lease["attempt"]) == (str(job), 1)
    assert await path_of(store, job) == ["queued", "started"]
    assert not api.bugs


async def test_what_was_claimed_for_who_has_gone_meanwhile_is_given_back_at_once(store: Store) -> None:
    """The connection is closed while the store is busy with the claim."""
    job = await enqueue_one(store)
    slow = _Slow(store)
    await register(store, SPEC)
    async with serving(slow) as api:  # type: ignore[arg-type]
        body = msgspec.json.encode({"workerId": "gone", "definitions": [MAIL]})
        data = request(path="/v1/leases", headers={"Content-Type": "application/json"}, body=body)
        async with api.wire() as wire:
            await wire.send(data)
            await slow.claimed.wait()
            assert await state_of(store, job) is State.RUNNING
        slow.go_on.set()
        [held] = await lease(api, wait=30)
        assert (held.job, held.lease["attempt"]) == (str(job), 1)
    assert await path_of(store, job) == ["queued", "started", "handed_back", "started"]
    assert (await found(store, job)).hand_backs == 1


async def test_what_is_claimed_as_the_time_for_an_answer_ends_is_given_back(store: Store) -> None:
    """S0.60: nobody was told of it, and somebody else need not wait for the lease to run out."""
    job = await enqueue_one(store)
    slow = _Slow(store)
    await register(store, SPEC)
    async with serving(slow, limits=HttpLimits(http_request_seconds=0.5)) as api:  # type: ignore[arg-type]
        asking = asyncio.create_task(ask(api))
        await slow.claimed.wait()
        assert (await asking).status == 503
        slow.go_on.set()
        [held] = await lease(api, wait=30)
        assert (held.job, held.lease["attempt"]) == (str(job), 1)


async def test_who_waits_is_let_go_when_the_server_is_to_stop(api: Api) -> None:
    [waits] = await waiting_for(api)
    api.server.stop()
    assert (await waits).json["leases"] == []


async def test_who_waits_claims_nothing_once_its_key_is_revoked(api: Api, store: Store) -> None:
    key = await make(store, "work")
    [waits] = await waiting_for(api, extra=bearing(key))
    await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    job = await enqueue_one(store)
    reply = await waits
    assert (reply.status, reply.kind) == (401, "unauthenticated")
    context: AppContext = api.server._context
    await context.client.remote_leases.close()  # gives back what was claimed at that very moment
    assert await state_of(store, job) is State.QUEUED


async def test_only_so_many_wait_and_others_are_told_to_come_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever need not wait is served all the same."""
    monkeypatch.setattr("tenure.surfaces.http.app.context.MOST_WAITING", 2)
    monkeypatch.setattr("tenure.surfaces.http.app.context.MOST_WAITING_BY_KEY", 1)
    await register(store, SPEC)
    first, second, third = [bearing(await make(store, "work")) for _ in range(3)]
    async with serving(store) as api:
        waits = await waiting_for(api, extra=first)
        own = await ask(api, wait=30, extra=first)
        assert (own.status, own.kind) == (429, "too-many-requests")
        waits.append(asyncio.create_task(ask(api, wait=30, extra=second)))
        await until(lambda: waiters(api) == 2)
        full = await ask(api, wait=30, extra=third)
        assert (full.status, full.kind) == (503, "busy")
        assert int(full.headers["retry-after"]) >= 1
        for _ in range(3):
            await enqueue_one(store)
        assert len(await lease(api, extra=third, limit=9)) >= 1
        for task in waits:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class _Slow:
    """A store whose answer to the first claim is long in coming; the claim itself is done."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.claimed = asyncio.Event()
        self.go_on = asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def settle_and_claim(self, reports: object, order: object) -> object:
        answer = await self._store.settle_and_claim(reports, order)  # type: ignore[arg-type]
        self.claimed.set()
        await self.go_on.wait()
        return answer
