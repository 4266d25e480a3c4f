"""Jobs that break every rule, in a worker that is a process of its own: it stays, and so does who behaves."""

import signal
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tenure.core.states import State
from tenure.execution.output import CUT
from tenure.storage.contract import Store
from tests.execution.test_stopping import pids
from tests.worker.commanding import Command, Ledger, commanded, descendants
from tests.worker.employing import enqueue, is_alive, reach, until, vanish

PROGRAM = "tests.worker.hostility:app"
REASONS = {"allocates": "OutOfMemory", "closes": "PipeClosed", "exits": "ExitedWithoutResult"}
FAMILY = 301
ONCE = {"max_attempts": 1, "grace": timedelta(milliseconds=100)}
AT_REST = 4
"""The processes of a worker that runs nothing, at most: guard, zygote and two spares."""


async def test_a_job_that_breaks_the_rules_breaks_its_own_attempt_alone(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.3, S3.44, S3.58: each ends by its own name, nobody is left, and the worker stays until told."""
    ledger, family, daemon = Ledger(tmp_path), tmp_path / "family", tmp_path / "daemon"
    async with commanded(address, target=PROGRAM) as worker:
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
    async with commanded(address, target=PROGRAM) as worker:
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


async def reason(store: Store, job: UUID) -> str:
    """What a job failed of."""
    failed = await reach(store, job, State.FAILED)
    assert failed.error is not None
    return failed.error.kind


async def ends_when_told(worker: Command) -> None:
    """The worker is there, with nobody it does not need, and ends well with all of them."""
    await until(lambda: len(descendants(worker.pid)) <= AT_REST)
    family = descendants(worker.pid)
    assert family
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    for pid in family:
        await vanish(pid)
