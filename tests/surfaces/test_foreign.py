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
from tenure.core.model.outcome import Ending
from tenure.core.model.states import FINAL, State
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store
from tests import node
from tests.storage.verbs import EVERY_JOB
from tests.surfaces.command import environment
from tests.surfaces.conftest import Start
from tests.until import until
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
"""Where the jobs of each definition may end, whichever worker is killed."""


class JsWorkers:
    """Workers in JavaScript, each in a process of its own and replaced when it has ended."""

    def __init__(self, program: Path, client: httpx.AsyncClient, **variables: str) -> None:
        self._command = [node.program(), str(program)]
        self._client = client
        url = str(client.base_url).rstrip("/")
        self._environment = environment(TENURE_URL=url, TENURE_LEASE_SECONDS=str(LEASE), **variables)
        self._processes: list[subprocess.Popen[bytes]] = []

    def start_one(self) -> None:
        self._processes.append(subprocess.Popen(self._command, env=self._environment))

    async def harm(self, number: signal.Signals, random: Random) -> None:
        """Send a signal to one of them; a stopped one continues when its leases have expired."""
        process = random.choice(await self._serving())
        process.send_signal(number)
        if number is signal.SIGSTOP:
            await asyncio.sleep(1.5 * LEASE)
            process.send_signal(signal.SIGCONT)
            return
        code = await asyncio.to_thread(process.wait, BOUND)
        assert code == (0 if number is signal.SIGTERM else -number)
        self.start_one()

    async def _serving(self) -> list["subprocess.Popen[bytes]"]:
        """Those that have asked for jobs: one that is still starting would end by any signal."""

        async def all_of_them() -> list["subprocess.Popen[bytes]"] | None:
            names = [item["workerId"] for item in (await self._client.get("/v1/workers")).json()["items"]]
            known = {int(name.split("-")[1]) for name in names}
            running = [one for one in self._processes if one.poll() is None]
            return running if known.issuperset(one.pid for one in running) else None

        return await until(all_of_them, BOUND) or []

    async def stop(self) -> None:
        """Ask all of them to stop, which they do in good order."""
        left = await self._serving()
        for process in left:
            process.send_signal(signal.SIGTERM)
        assert [await asyncio.to_thread(process.wait, BOUND) for process in left] == [0] * len(left)

    @contextmanager
    def running(self, number: int) -> Iterator["JsWorkers"]:
        try:
            for _ in range(number):
                self.start_one()
            yield self
        finally:
            for process in self._processes:
                process.kill()
                process.wait()


@asynccontextmanager
async def served(start: Start, database: str) -> AsyncIterator[httpx.AsyncClient]:
    """A server with the duties, as its users run it."""
    process = start("serve", "--database", database, "--port", "0")
    assert process.stderr is not None
    log = ""
    while not (found := re.search(r"^(http://127\.0\.0\.1:\d+) on ", log, re.MULTILINE)):
        line = await asyncio.to_thread(process.stderr.readline)
        assert line, log
        log += line
    options: dict[str, Any] = {"verify": False, "trust_env": False}
    async with httpx.AsyncClient(base_url=found[1], timeout=BOUND, **options) as client:
        yield client


async def until_known(client: httpx.AsyncClient, key: str) -> None:
    async def is_known() -> bool:
        return (await client.get(f"/v1/definitions/{key}")).status_code == 200

    await until(is_known, BOUND)


@pytest.mark.parametrize("migrated", dealt(0), indirect=True)
async def test_the_example_runs_as_its_page_says(migrated: str, start: Start) -> None:
    """S1.15: registers, claims, finishes; and signs off when stopped."""
    async with served(start, migrated) as client:
        with JsWorkers(EXAMPLE, client, TENURE_WAIT_SECONDS="1").running(1) as workers:
            await until_known(client, "text.count")
            sent = {"definitionKey": "text.count", "params": {"text": "to be or not to be"}}
            job = (await client.post("/v1/jobs", json=sent)).json()["jobId"]
            answer = (await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")).json()
            assert answer["result"] == {"words": 6}
            [step] = (await client.get(f"/v1/jobs/{job}/steps")).json()["items"]
            assert (step["name"], step["result"]) == ("split", ["to", "be", "or", "not", "to", "be"])
            [worker] = (await client.get("/v1/workers")).json()["items"]
            assert (worker["status"], worker["slots"]) == ("ready", 4)
            await workers.stop()
            assert (await client.get("/v1/workers")).json()["items"] == []


@pytest.mark.parametrize("migrated", dealt(0), indirect=True)
async def test_a_handler_that_ends_oddly_harms_its_own_job_alone(migrated: str, start: Start) -> None:
    """Whatever it throws is recorded, and so is a report that cannot be sent."""
    async with served(start, migrated) as client:
        program = ROOT / "tests/surfaces/awkward.js"
        with JsWorkers(program, client, TENURE_WAIT_SECONDS="4", TENURE_SLOTS="1").running(1) as workers:
            await until_known(client, "fine")
            await workers._serving()
            endings = {}
            for key in ("no-json", "huge", "halved", "no-error", "bad-name", "fine"):
                if key == "fine":  # the claim has waited for longer than the lease lasts
                    await asyncio.sleep(1.5 * LEASE)
                job = (await client.post("/v1/jobs", json={"definitionKey": key})).json()["jobId"]
                await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")
                [attempt] = (await client.get(f"/v1/jobs/{job}/attempts")).json()["items"]
                endings[key] = attempt["outcome"], (attempt["error"] or {}).get("kind")
            await workers.stop()
    assert endings == {
        "no-json": ("recoverable", "TypeError"),
        "huge": ("unrecoverable", "ReportRefused"),
        "halved": ("recoverable", "Error"),
        "no-error": ("recoverable", "Error"),
        "bad-name": ("recoverable", "ReportRefused"),
        "fine": ("succeeded", None),
    }


@pytest.mark.parametrize("migrated", dealt(1), indirect=True)
async def test_steps_that_a_killed_worker_has_kept_are_not_run_again(
    migrated: str, start: Start, tmp_path: Path
) -> None:
    """S0.7, S2.30: the next attempt finds their results, long ones too, and goes on behind them."""
    ledger = tmp_path / "parts"
    async with served(start, migrated) as client:
        program = ROOT / "tests/surfaces/stepping.js"
        with JsWorkers(program, client, STEPS_LEDGER=str(ledger), TENURE_SLOTS="1").running(2):
            await until_known(client, "large")
            job = (await client.post("/v1/jobs", json={"definitionKey": "parts"})).json()["jobId"]
            answer = (await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")).json()
            assert answer["result"] == [5000, 1, 2, 3]
            job = (await client.post("/v1/jobs", json={"definitionKey": "large"})).json()["jobId"]
            await client.get(f"/v1/jobs/{job}/result?waitSeconds=30")
            [attempt] = (await client.get(f"/v1/jobs/{job}/attempts")).json()["items"]
    assert ledger.read_text().split() == ["0", "1", "2", "3"]
    assert (attempt["outcome"], attempt["error"]["kind"]) == ("unrecoverable", "StepRefused")


@pytest.mark.parametrize("migrated", dealt(1), indirect=True)
async def test_workers_in_javascript_that_are_killed_at_random_break_no_promise(
    migrated: str, start: Start, tmp_path: Path
) -> None:
    """S0.25, S0.61, S0.62: every job ends as the table says, and effects that keep to the fence are once."""
    random = Random(SEED)
    store = await open_store(migrated)
    try:
        async with served(start, migrated) as client, asyncio.timeout(BOUND):
            workers = JsWorkers(
                ROOT / "tests/surfaces/foreign.js",
                client,
                CHAOS_LEDGER=str(tmp_path / "ledger"),
                TENURE_WAIT_SECONDS="0.5",
            )
            with workers.running(WORKERS):
                await until_known(client, "refuse")
                await _record(client, random)
                for number in KILLS:
                    await asyncio.sleep(random.uniform(0.1, 0.5))
                    await workers.harm(number, random)
                await _until_rest(store)
                await workers.stop()
        _judge(await _evidence(store, tmp_path))
    finally:
        await store.close()


async def _record(client: httpx.AsyncClient, random: Random) -> None:
    """Enqueue jobs of every kind in a random order, and cancel some."""
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
    async def have_ended() -> bool:
        return all(job.state in FINAL for job in (await store.page(EVERY_JOB, limit=200)).jobs)

    await until(have_ended, BOUND)


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
    """No promise was broken, and the signals to workers have left their marks."""
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
