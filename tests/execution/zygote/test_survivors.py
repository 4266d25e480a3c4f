"""Nobody survives the worker, however it ends."""

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tenure.core.model.retry import Crashed, Returned
from tenure.execution.parent.attempt_terms import Interrupted, StopReason, StopRequest
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import is_alive, opened, run
from tests.execution.parent.test_stopping import pids
from tests.execution.tiny_worker import ORDINARY, belongings, supervisor
from tests.until import until, until_sync


def descendants(ancestor: int) -> set[int]:
    """Every process below this one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, fresh = set[int](), {ancestor}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        found |= fresh
    return found


@pytest.mark.parametrize(("user", "stopped"), [("root", False), (ORDINARY, False), (ORDINARY, True)])
def test_nobody_is_left_when_the_worker_is_killed(tmp_path: Path, user: str, stopped: bool) -> None:
    """Not even where every process was stopped before."""
    folder = belongings(tmp_path / "owned", user)
    scratch = belongings(folder / "tmp", user)
    ledger = folder / "ledger"
    process = supervisor(
        user,
        "tests.execution.hostile_app:app",
        "has_a_family",
        str(ledger),
        {},
        env=_environment(scratch),
    )
    with process:
        until_sync(lambda: len(pids(ledger)) == 4)
        family = descendants(process.pid)
        assert set(pids(ledger)) <= family
        assert len(family) >= 6  # the guard and the zygote, and perhaps spares
        for pid in family if stopped else ():
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGKILL)
    until_sync(lambda: not any(map(is_alive, family)))
    until_sync(lambda: not any(scratch.iterdir()))


async def test_closing_the_lane_ends_everybody(tmp_path: Path) -> None:
    ledger, scratch = tmp_path / "ledger", tmp_path / "tmp"
    scratch.mkdir()
    async with opened("tests.execution.hostile_app:app", environment=_with_folder(scratch)) as lane:
        running = asyncio.create_task(run(lane, "has_a_family", str(ledger)))
        await until(lambda: len(pids(ledger)) == 4)
        below = {pid for pid in descendants(os.getpid()) if _is_ours(pid)}
        assert set(pids(ledger)) < below
    assert not any(map(is_alive, below))
    assert not any(scratch.iterdir())
    assert isinstance((await running).end, Interrupted)


async def test_the_guard_may_be_killed(tmp_path: Path) -> None:
    """The attempt dies by the kernel's signals, the next one has another guard, and no folder is left."""
    ledger, scratch = tmp_path / "ledger", tmp_path / "tmp"
    scratch.mkdir()
    async with opened("tests.execution.hostile_app:app", environment=_with_folder(scratch)) as lane:
        running = asyncio.create_task(run(lane, "stops_itself", str(ledger)))
        await until(lambda: pids(ledger))
        [attempt] = pids(ledger)
        guard = parent_of(parent_of(attempt))
        assert parent_of(guard) == os.getpid()
        os.kill(guard, signal.SIGKILL)
        assert isinstance((await running).end, Crashed)
        await until(lambda: not is_alive(attempt))
        assert (await run(lane, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]
    assert not any(scratch.iterdir())


async def test_signals_to_guard_and_zygote_stop_neither(tmp_path: Path) -> None:
    """A service manager may signal all processes: the worker decides how attempts end."""
    ledger = tmp_path / "ledger"
    async with opened("tests.execution.hostile_app:app") as lane:
        stop = StopRequest()
        running = asyncio.create_task(run(lane, "ignores_sigterm", str(ledger), stop=stop))
        await until(lambda: pids(ledger))
        [attempt] = pids(ledger)
        zygote = parent_of(attempt)
        # So that Ctrl-C at the worker's terminal is not for them.
        assert os.getsid(zygote) == parent_of(zygote)
        for pid in (zygote, parent_of(zygote)):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                os.kill(pid, number)
        assert (await run(lane, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]
        assert parent_of(attempt) == zygote
        stop.ask(StopReason.SHUTDOWN)
        assert (await running).end is None


async def test_attempts_leave_no_descriptors_and_no_folders(tmp_path: Path) -> None:
    """Neither in the worker nor in the zygote, however many there were at once and however they ended."""
    async with opened("tests.execution.hostile_app:app", environment=_with_folder(tmp_path)) as lane:
        [guard] = [pid for pid in descendants(os.getpid()) if _is_ours(pid) and parent_of(pid) == os.getpid()]
        [zygote] = [pid for pid in descendants(guard) if parent_of(pid) == guard]
        await until(partial(_has_spares, zygote))
        ours, theirs = _descriptors(os.getpid()), _descriptors(zygote)
        for _ in range(3):
            endings = [
                run(lane, "returns", 1),
                run(lane, "exits_silently", 3),
                run(lane, "kills_itself", 9),
                run(lane, "writes_garbage", "ffffffff"),
                run(lane, "daemonises", str(tmp_path / "ledger")),
                run(lane, "spins", timeout=0.1, grace=0),
            ]
            await asyncio.gather(*endings, *(run(lane, "returns", n) for n in range(10)))
            # While a spare is forked the zygote holds one more for a moment: one look proves nothing.
            await until(lambda: _has_spares(zygote) and _descriptors(zygote) <= theirs)
        assert _descriptors(os.getpid()) == ours


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _has_spares(zygote: int) -> bool:
    return len(Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()) == 2


def _is_ours(pid: int) -> bool:
    try:
        return b"tenure.execution.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _with_folder(scratch: Path) -> ChildEnvironment:
    return ChildEnvironment({**os.environ, "TMPDIR": str(scratch)})


def _environment(scratch: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TMPDIR": str(scratch),
    }
