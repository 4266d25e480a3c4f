"""The worker in JavaScript that is in `examples`: killed at random while jobs flow, it breaks no promise."""

import asyncio
import re
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from chaos import checker, evidence, ledger
from chaos.evidence import Evidence, Terms
from tenure.core.outcome import Ending
from tenure.core.states import FINAL, State
from tenure.storage.address import open_store
from tenure.storage.contract import Store
from tests import node
from tests.storage.telling import EVERY_JOB
from tests.surfaces.command import environment
from tests.surfaces.conftest import Start
from tests.whole import dealt

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/worker.js"
SEED = 7
BOUND = 200.0
"""Seconds within which all of it has long happened."""

LEASE = 2
WORKERS = 3
JOBS = {"nap": 60, "stumble": 10, "once": 12, "refuse": 4}
KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP) * 2
ENDS = {
    "nap": {State.SUCCEEDED, State.CANCELLED},
    "stumble": {State.SUCCEEDED},
    "once": {State.SUCCEEDED, State.BURIED},
    "refuse": {State.FAILED},
}
"""Where the jobs of each definition may end, whoever is killed."""


class Crew:
    """Workers in JavaScript, each in a process of its own and replaced when it has ended."""

    def __init__(self, program: Path, client: httpx.AsyncClient, **variables: str) -> None:
        self._command = [node.program(), str(program)]
        self._client = client
        url = str(client.base_url).rstrip("/")
        self._environment = environment(TENURE_URL=url, TENURE_LEASE_SECONDS=str(LEASE), **variables)
        self._hands: list[subprocess.Popen[bytes]] = []

    def hire(self) -> None:
        self._hands.append(subprocess.Popen(self._command, env=self._environment))

    async def harm(self, number: signal.Signals, random: Random) -> None:
        """Send a signal to one of them; who stands still goes on when its leases have run out."""
        hand = random.choice(await self._serving())
        hand.send_signal(number)
        if number is signal.SIGSTOP:
            await asyncio.sleep(1.5 * LEASE)
            hand.send_signal(signal.SIGCONT)
            return
        code = await asyncio.to_thread(hand.wait, BOUND)
        assert code == (0 if number is signal.SIGTERM else -number)
        self.hire()

    async def _serving(self) -> list["subprocess.Popen[bytes]"]:
        """Those that have asked for jobs: who is about to start ends by any signal."""
        while True:
            names = [item["workerId"] for item in (await self._client.get("/v1/workers")).json()["items"]]
            known = {int(name.split("-")[1]) for name in names}
            found = [one for one in self._hands if one.poll() is None and one.pid in known]
            if len(found) == sum(one.poll() is None for one in self._hands):
                return found
            await asyncio.sleep(0.1)

    async def leave(self) -> None:
        """Tell all of them to stop, which they do in good order."""
        left = await self._serving()
        for hand in left:
            hand.send_signal(signal.SIGTERM)
        assert [await asyncio.to_thread(hand.wait, BOUND) for hand in left] == [0] * len(left)

    @contextmanager
    def at_hand(self, number: int) -> Iterator["Crew"]:
        try:
            for _ in range(number):
                self.hire()
            yield self
        finally:
            for hand in self._hands:
                hand.kill()
                hand.wait()


@asynccontextmanager
async def served(start: Start, database: str) -> AsyncIterator[httpx.AsyncClient]:
    """A server with the duties, as its users run it."""
    process = start("serve", "--database", database, "--port", "0")
    assert process.stderr is not None
    said = ""
    while not (found := re.search(r"^(http://127\.0\.0\.1:\d+) on ", said, re.MULTILINE)):
        line = await asyncio.to_thread(process.stderr.readline)
        assert line, said
        said += line
    options: dict[str, Any] = {"verify": False, "trust_env": False}
    async with httpx.AsyncClient(base_url=found[1], timeout=BOUND, **options) as client:
        yield client


async def until_known(client: httpx.AsyncClient, key: str) -> None:
    async with asyncio.timeout(BOUND):
        while (await client.get(f"/v1/definitions/{key}")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("migrated", dealt(0), indirect=True)
async def test_the_example_runs_as_its_page_says(migrated: str, start: Start) -> None:
    """S1.15: registers, claims, finishes; and says goodbye when told to stop."""
    async with served(start, migrated) as client:
        with Crew(EXAMPLE, client, TENURE_WAIT_SECONDS="1").at_hand(1) as crew:
            await until_known(client, "text.count")
            sent = {"definitionKey": "text.count", "params": {"text": "to be or not to be"}}
            job = (await client.post("/v1/jobs", json=sent)).json()["jobId"]
            told = (await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")).json()
            assert told["result"] == {"words": 6}
            [worker] = (await client.get("/v1/workers")).json()["items"]
            assert (worker["status"], worker["slots"]) == ("ready", 4)
            await crew.leave()
            assert (await client.get("/v1/workers")).json()["items"] == []


@pytest.mark.parametrize("migrated", dealt(0), indirect=True)
async def test_a_handler_that_ends_oddly_harms_its_own_job_alone(migrated: str, start: Start) -> None:
    """What is thrown is told in words that can be kept, and what cannot be sent is told at all."""
    async with served(start, migrated) as client:
        program = ROOT / "tests/surfaces/awkward.js"
        with Crew(program, client, TENURE_WAIT_SECONDS="4", TENURE_SLOTS="1").at_hand(1) as crew:
            await until_known(client, "fine")
            await crew._serving()
            told = {}
            for key in ("no-json", "huge", "halved", "no-error", "bad-name", "fine"):
                if key == "fine":  # the claim has waited for longer than the lease lasts
                    await asyncio.sleep(1.5 * LEASE)
                job = (await client.post("/v1/jobs", json={"definitionKey": key})).json()["jobId"]
                await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")
                [attempt] = (await client.get(f"/v1/jobs/{job}/attempts")).json()["items"]
                told[key] = attempt["outcome"], (attempt["error"] or {}).get("kind")
            await crew.leave()
    assert told == {
        "no-json": ("recoverable", "TypeError"),
        "huge": ("unrecoverable", "ReportRefused"),
        "halved": ("recoverable", "Error"),
        "no-error": ("recoverable", "Error"),
        "bad-name": ("recoverable", "ReportRefused"),
        "fine": ("succeeded", None),
    }


@pytest.mark.parametrize("migrated", dealt(1), indirect=True)
async def test_workers_in_javascript_that_are_killed_at_random_break_no_promise(
    migrated: str, start: Start, tmp_path: Path
) -> None:
    """S0.25, S0.61, S0.62: every job ends as the table says, and effects that keep to the fence are once."""
    random = Random(SEED)
    store = await open_store(migrated)
    try:
        async with served(start, migrated) as client, asyncio.timeout(BOUND):
            crew = Crew(
                ROOT / "tests/surfaces/foreign.js",
                client,
                CHAOS_LEDGER=str(tmp_path / "ledger"),
                TENURE_WAIT_SECONDS="0.5",
            )
            with crew.at_hand(WORKERS):
                await until_known(client, "refuse")
                await _record(client, random)
                for number in KILLS:
                    await asyncio.sleep(random.uniform(0.1, 0.5))
                    await crew.harm(number, random)
                await _until_rest(store)
                await crew.leave()
        _judge(await _evidence(store, tmp_path))
    finally:
        await store.close()


async def _record(client: httpx.AsyncClient, random: Random) -> None:
    """Jobs of every kind in a random order, some of which somebody wants to stop."""
    keys = [key for key, number in JOBS.items() for _ in range(number)]
    random.shuffle(keys)
    jobs = [
        {"definitionKey": key, "params": {"seconds": round(random.uniform(0.05, 1.2), 3)}} for key in keys
    ]
    items = (await client.post("/v1/jobs/batch", json={"jobs": jobs})).json()["items"]
    for key, item in zip(keys, items, strict=True):
        if key == "nap" and random.random() < 0.1:
            await client.post(f"/v1/jobs/{item['jobId']}/cancel")


async def _until_rest(store: Store) -> None:
    while any(job.state not in FINAL for job in (await store.page(EVERY_JOB, limit=200)).jobs):  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def _evidence(store: Store, folder: Path) -> Evidence:
    terms = Terms(
        lease=timedelta(seconds=LEASE),
        overlap=timedelta(seconds=LEASE),
        rescue=timedelta(seconds=60),
        stopping=timedelta(seconds=60),
        effects=frozenset({"nap", "stumble", "once"}),
    )
    return await evidence.gather(store, terms, ledger=ledger.read(folder / "ledger", torn=True))


def _judge(found: Evidence) -> None:
    """No promise was broken, and what was done to workers has left its marks."""
    assert checker.check(found) == []
    assert Counter(job.definition for job in found.jobs) == JOBS
    wrong = [(job.definition, job.state) for job in found.jobs if job.state not in ENDS[job.definition]]
    assert wrong == []
    for job in found.jobs:
        if job.state is State.SUCCEEDED:
            assert job.result == str(job.fence)
    endings = Counter(attempt.ending for attempt in found.attempts)
    assert endings[Ending.LOST] >= 2, endings
    assert endings[Ending.KILLED] >= 1, endings
