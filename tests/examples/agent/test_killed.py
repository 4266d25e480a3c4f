"""The agent in real processes, which are killed at random: children, the zygote, whole workers."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from examples.agent import tools
from tenure.core.model.durable import EffectAnswer, OpenWait, Signal, WaitKind
from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.examples.agent import booked
from tests.until import until
from tests.whole import IS_WHOLE
from tests.worker.running_worker import QUICK
from tests.worker.worker_process import Command, descendants, generations, worker_process

TARGET = "examples.agent.jobs:app"
SEEDS = range(10) if IS_WHOLE else range(1)
WORKERS = 5 if IS_WHOLE else 2
JOBS = 6 if IS_WHOLE else 3
ASKED = {"find_train": 1, "find_room": 1, "book": 1, "send_mail": 1}
FINAL = {State.SUCCEEDED, State.FAILED, State.CANCELLED, State.BURIED}


@pytest.mark.both_stores
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
async def test_each_tool_is_called_once_whatever_is_killed_and_whenever(
    store: Store, address: str, books: Path, seed: int
) -> None:
    """S0.7, S3.65: by key where a service knows keys; where it does not, a person is asked, never a guess."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    jobs = [await enqueue(store, f"Two of us to Lisbon{n} on Friday") for n in range(JOBS)]
    over = asyncio.Event()
    helping = asyncio.create_task(help_until_all_end(store, jobs, over))
    struck = Counter[str]()
    for _ in range(WORKERS):
        async with worker(address, books) as running:
            await strike(running, chance, struck, over)
    async with worker(address, books):
        answers = await helping

    for job in jobs:
        found = await store.get(job)
        assert found is not None
        assert (found.state, found.error) == (State.SUCCEEDED, None)
        kept = {step.name: step.body for step in await store.steps(job)}
        [payment] = [one for one in booked.payments() if one.booking == booking_of(kept)]
        assert payment.amount == 170
        assert f"booking {payment.booking}" in str(found.result)
    assert Counter(request.tool for request in booked.requests()) == dict.fromkeys(ASKED, JOBS)
    assert len(booked.payments()) == JOBS
    repeated = sum(request.tries - 1 for request in booked.requests())
    print(f"killed {dict(struck)}: {repeated} requests repeated, asked about {answers} payments")
    assert repeated <= JOBS * struck.total()


def worker(address: str, books: Path) -> AbstractAsyncContextManager[Command]:
    """A worker that is missed soon, and services that leave time to be killed in."""
    variables = {"TENURE_LEASE_SECONDS": "2", tools.BOOKS: str(books), tools.PAUSE: "0.2"}
    return worker_process(address, "--slots", str(JOBS), target=TARGET, **variables)


async def enqueue(store: Store, wish: str) -> UUID:
    policy = Policy(max_attempts=100, retry=QUICK)
    [made] = await store.enqueue(
        [NewJob(definition="agent.travel", params=write({"text": wish}), policy=policy)]
    )
    return made.id


async def strike(running: Command, chance: random.Random, struck: Counter[str], over: asyncio.Event) -> None:
    """Kill processes below a worker, and in the end the worker itself."""
    for _ in range(chance.randint(2, 4)):
        await until(lambda: over.is_set() or len(generations(running.pid)) > 1)
        await asyncio.sleep(chance.uniform(0, 0.8))
        if over.is_set():
            return
        _, *children = generations(running.pid) or [[]]
        pids = [pid for generation in children for pid in generation]
        if not (found := pids or descendants(running.pid)):
            continue  # what was killed before is still being replaced
        victim = chance.choice(found)
        struck["child" if victim in pids else "zygote"] += 1
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    struck["worker"] += 1
    running.send(signal.SIGKILL)


async def help_until_all_end(store: Store, jobs: Sequence[UUID], over: asyncio.Event) -> int:
    """Approve, and say whether payments have happened after a look at the bank's books; returns how often."""
    answers = 0

    async def all_have_ended() -> bool:
        nonlocal answers
        for wait in (await store.open_waits(jobs)).values():
            answers += await help_one(store, wait)
        found = [await store.get(job) for job in jobs]
        return all(one is not None and one.state in FINAL for one in found)

    await until(all_have_ended, within=600)
    over.set()
    return answers


async def help_one(store: Store, wait: OpenWait) -> bool:
    if wait.kind is WaitKind.SIGNAL:
        await store.signal(wait.job, Signal(name="approved", by="ann", body=write({"by": "ann"})))
        return False
    kept = {step.name: step.body for step in await store.steps(wait.job)}
    paid = [payment for payment in booked.payments() if payment.booking == booking_of(kept)]
    result = write({"receipt": f"receipt {paid[0].number}"}) if paid else write(None)
    await store.answer(wait.job, EffectAnswer(step=wait.step, happened=bool(paid), by="ann", result=result))
    return True


def booking_of(kept: Mapping[str, str | None]) -> str:
    [body] = [body for name, body in kept.items() if name.startswith("book ")]
    found: dict[str, str] = msgspec.json.decode(body or "{}")
    return found["booking"]
