"""Jobs that break every rule, in a worker process: it survives, and so do jobs that behave."""

import fcntl
import os
import signal
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.execution.parent.output import CUT
from tenure.storage.contract.store import Store
from tests.execution.parent.test_stopping import pids
from tests.execution.zygote.test_survivors import parent_of
from tests.until import until
from tests.whole import dealt
from tests.worker.running_worker import enqueue, is_alive, reach, vanish
from tests.worker.worker_process import Command, Entry, Ledger, descendants, worker_process

pytestmark = pytest.mark.parametrize("address", dealt(0), indirect=True)

PROGRAM = "tests.worker.hostile_app:app"
REASONS = {"allocates": "OutOfMemory", "closes": "PipeClosed", "exits": "ExitedWithoutResult"}
FAMILY = 301
ONCE = {"max_attempts": 1, "grace": timedelta(milliseconds=100)}
AT_REST = 4
"""The processes of a worker that runs nothing, at most: guard, zygote and two spares."""


async def test_a_job_that_breaks_the_rules_breaks_its_own_attempt_alone(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.3: each ends by its own name, no process is left, and the worker runs until stopped."""
    ledger, family, daemon = Ledger(tmp_path), tmp_path / "family", tmp_path / "daemon"
    async with worker_process(address, target=PROGRAM) as worker:
        neighbour = await enqueue(store, "neighbour", ledger.params, policy=ONCE)
        [start] = await ledger.reach("start", 1)
        doomed = {name: await enqueue(store, name, policy=ONCE) for name in REASONS}
        flood = await enqueue(store, "floods", policy=ONCE)
        careless = await enqueue(store, "daemonises", {"on": str(daemon)}, policy=ONCE)
        fork = await enqueue(store, "forks", {"on": str(family)}, policy=ONCE)

        await until(lambda: len(pids(family)) == FAMILY)
        await store.cancel([fork])
        await reach(store, fork, State.CANCELLED)
        assert {name: await reason(store, job) for name, job in doomed.items()} == REASONS
        for job in (flood, careless):
            await reach(store, job, State.SUCCEEDED)
        assert [line.text[-1] for _, line in await store.logs(flood)] == [CUT]
        assert len(pids(daemon)) == 1
        assert not any(map(is_alive, pids(family) + pids(daemon)))

        assert is_alive(start.pid)
        ledger.let_go()
        assert (await reach(store, neighbour, State.SUCCEEDED)).attempt == 1
        await ends_when_told(worker)


async def test_who_kills_the_process_it_was_forked_from_ends_no_worker(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S3.42: its neighbour dies of it too, is not charged for it, and is run again by the same worker."""
    ledger, mine = Ledger(tmp_path), tmp_path / "mine"
    async with worker_process(address, target=PROGRAM) as worker:
        neighbour = await enqueue(store, "neighbour", ledger.params, policy=ONCE)
        killer = await enqueue(store, "kills_parent", {**ledger.params, "on": str(mine)}, policy=ONCE)
        assert await reason(store, killer) == "ZygoteDied"
        assert len(pids(mine)) >= 2  # it was run twice: the first time it could have been the neighbour
        assert not any(map(is_alive, pids(mine)))

        first, _ = await ledger.reach("start", 2)
        assert not is_alive(first.pid)
        ledger.let_go()
        done = await reach(store, neighbour, State.SUCCEEDED)
        assert (done.attempt, done.hand_backs) == (1, 1)
        late = await enqueue(store, "neighbour", ledger.params, policy=ONCE)
        assert (await reach(store, late, State.SUCCEEDED)).hand_backs == 0
        await ends_when_told(worker)


async def test_nobody_is_left_when_a_guard_is_killed(store: Store, address: str, tmp_path: Path) -> None:
    """Not even a daemon, or a process that forks on and on; one with another guard is left alone."""
    [ours, theirs] = ledgers = [Ledger(made_folder(tmp_path / name)) for name in ("ours", "theirs")]
    async with worker_process(address, target=PROGRAM) as worker:
        jobs = [await enqueue(store, "haunted", ledger.params) for ledger in ledgers]
        firsts = [start for ledger in ledgers for start in await ledger.reach("start", 1)]
        [guard] = {guard_of(start.pid) for start in firsts}
        os.kill(guard, signal.SIGKILL)
        for ledger, start in zip(ledgers, firsts, strict=True):
            await until(partial(is_deserted, ledger, start))

        # Each may have done it, and so has a guard of its own now.
        [_, mine], [_, yours] = [await ledger.reach("start", 2) for ledger in ledgers]
        os.kill(guard_of(mine.pid), signal.SIGKILL)
        await until(partial(is_deserted, ours, mine))
        [*_, again] = await ours.reach("start", 3)
        assert is_alive(yours.pid)
        assert all(map(is_alive, daemons(theirs, yours)))
        for ledger, job in zip(ledgers, jobs, strict=True):
            ledger.let_go()
            assert (await reach(store, job, State.SUCCEEDED)).hand_backs == 1
        assert is_deserted(ours, again)
        assert is_deserted(theirs, yours)
        late = await enqueue(store, "neighbour", ours.params, policy=ONCE)
        assert (await reach(store, late, State.SUCCEEDED)).hand_backs == 0
        await ends_when_told(worker)


def made_folder(path: Path) -> Path:
    path.mkdir()
    return path


def guard_of(attempt: int) -> int:
    return parent_of(parent_of(attempt))


def daemons(ledger: Ledger, start: Entry) -> list[int]:
    """The daemons that an attempt has left, dead or alive."""
    found = pids(Path(f"{ledger.params['ledger']}-daemon-{start.fence}"))
    assert found
    return found


def is_deserted(ledger: Ledger, start: Entry) -> bool:
    """Whether no process is left of an attempt."""
    with Path(f"{ledger.params['ledger']}-lock-{start.fence}").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return not any(map(is_alive, [start.pid, *daemons(ledger, start)]))


async def reason(store: Store, job: UUID) -> str:
    """What a job failed of."""
    failed = await reach(store, job, State.FAILED)
    assert failed.error is not None
    return failed.error.kind


async def ends_when_told(worker: Command) -> None:
    """The worker runs, with no process that it does not need, and ends in order with all of them."""
    await until(lambda: len(descendants(worker.pid)) <= AT_REST)
    family = descendants(worker.pid)
    assert family
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    for pid in family:
        await vanish(pid)
