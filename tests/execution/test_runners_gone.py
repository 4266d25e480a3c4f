"""What is left of a runner's lanes if the zygote dies, they are closed, or the worker is killed: nothing."""

import asyncio
import os
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from tenure.execution.parent.attempt_terms import Interrupted
from tests.execution.attempts import is_alive, run
from tests.execution.parent.test_stopping import pids
from tests.execution.test_runners import HOSTILE, LANES, crash, lanes_of, result
from tests.execution.tiny_worker import ORDINARY, belongings, supervisor
from tests.execution.zygote.test_survivors import descendants
from tests.until import until

pytestmark = pytest.mark.parametrize("name", LANES)


async def test_who_is_alone_with_a_zygote_that_dies_has_killed_it(name: str, tmp_path: Path) -> None:
    lanes = lanes_of(HOSTILE)
    try:
        await lanes.start()
        ended = await run(lanes.named(name), "kills_its_parent", str(tmp_path / "on"), job=uuid4())
        assert crash(ended)[0] == "ZygoteDied"
        assert not any(map(is_alive, pids(tmp_path / "on")))
        assert result(await run(lanes.named(name), "returns", 1)) == 1
    finally:
        await lanes.close()


async def test_closing_leaves_nobody_and_nothing(name: str, tmp_path: Path) -> None:
    ledger, scratch = tmp_path / "ledger", tmp_path / "tmp"
    scratch.mkdir()
    lanes = lanes_of(HOSTILE, TMPDIR=str(scratch))
    await lanes.start()
    await run(lanes.named(name), "returns", 1)
    running = asyncio.create_task(run(lanes.named(name), "has_a_family", str(ledger)))
    await until(lambda: len(pids(ledger)) == 4)
    below = descendants(os.getpid())
    assert set(pids(ledger)) <= below
    await lanes.close()
    assert isinstance((await running).end, Interrupted)
    assert not any(map(is_alive, pids(ledger)))
    assert not any(scratch.iterdir())


async def test_nobody_is_left_when_the_worker_is_killed(name: str, tmp_path: Path) -> None:
    folder = belongings(tmp_path / "owned", ORDINARY)
    scratch = belongings(folder / "tmp", ORDINARY)
    ledger = folder / "ledger"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TMPDIR": str(scratch),
    }
    process = supervisor(ORDINARY, HOSTILE, "has_a_family", str(ledger), {}, lane=name, env=environment)
    with process:
        await until(lambda: len(pids(ledger)) == 4)
        family = descendants(process.pid)
        assert set(pids(ledger)) <= family
        process.send_signal(signal.SIGKILL)
    await until(lambda: not any(map(is_alive, family)))
    await until(lambda: not any(scratch.iterdir()))
