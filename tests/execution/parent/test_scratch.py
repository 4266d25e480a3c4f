"""The folders that attempts write to: a killed worker leaves one behind, and the next worker removes it."""

import os
import signal
from pathlib import Path

from tenure.execution.parent.scratch import PREFIX, Scratch, sweep
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import is_alive, opened
from tests.execution.parent.test_stopping import pids
from tests.execution.tiny_worker import supervisor
from tests.execution.zygote.test_survivors import descendants, parent_of
from tests.until import until_sync


async def test_what_a_worker_and_its_guard_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """Killed together, neither of them can; what a living worker has is its own."""
    ledger, place = tmp_path / "ledger", tmp_path / "tmp"
    place.mkdir()
    given = {**os.environ, "TMPDIR": str(place)}
    process = supervisor(
        "root", "tests.execution.hostile_app:app", "has_a_family", str(ledger), {}, env=given
    )
    with process:
        until_sync(lambda: len(pids(ledger)) == 4)
        family = descendants(process.pid)
        [guard] = [pid for pid in family if parent_of(pid) == process.pid]
        # Stopped first, so that none of them can see the other one die.
        for pid in (process.pid, guard):
            os.kill(pid, signal.SIGSTOP)
        for pid in (guard, process.pid):
            os.kill(pid, signal.SIGKILL)
    until_sync(lambda: not is_alive(guard))
    for pid in family:  # no process is left to end them
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    [left] = place.iterdir()
    async with opened("tests.execution.hostile_app:app", environment=ChildEnvironment(given)):
        assert not left.exists()
        [own] = place.iterdir()
        assert sweep(place) == []
        assert own.exists()
    assert not any(place.iterdir())


def test_nothing_is_swept_that_is_no_folder_of_a_workers(tmp_path: Path) -> None:
    other, file, link = (tmp_path / name for name in ("tenure-other", f"{PREFIX}file", f"{PREFIX}link"))
    other.mkdir()
    file.touch()
    link.symlink_to(other)
    abandoned = tmp_path / f"{PREFIX}left"
    (abandoned / "1").mkdir(parents=True)
    mine = Scratch.make(tmp_path)
    assert sweep(tmp_path) == [abandoned]
    assert set(tmp_path.iterdir()) == {other, file, link, mine.path}
    mine.remove()
    assert not mine.path.exists()
