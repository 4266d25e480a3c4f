"""A worker that was started without some of its standard streams."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.whole import dealt
from tests.worker.running_worker import PATIENCE, ROOT, enqueue, reach
from tests.worker.worker_process import PROGRAM, Ledger

pytestmark = pytest.mark.parametrize("address", dealt(1), indirect=True)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_a_worker_needs_no_standard_streams(
    store: Store, address: str, tmp_path: Path, closed: str
) -> None:
    """As a service manager may start it."""
    ledger = Ledger(tmp_path)
    ledger.let_go()
    job = await enqueue(store, "wait", ledger.params)
    worker = await asyncio.create_subprocess_shell(
        f'exec "{sys.executable}" -m tenure worker {PROGRAM} --database "{address}" {closed}',
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        await reach(store, job, State.SUCCEEDED)
        worker.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await worker.wait() == 0
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
