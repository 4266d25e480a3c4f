"""A program that plain code follows: on an old kernel, and where the callback fails."""

import os
from pathlib import Path

import pytest

from tenure.execution.handler.program_process import ProgramProcess


def refuse(_pid: int) -> int:
    raise OSError("not on this kernel")


@pytest.mark.parametrize("is_old", [False, True])
def test_the_end_of_a_program_is_seen_on_every_kernel(monkeypatch: pytest.MonkeyPatch, is_old: bool) -> None:
    """Though another process holds its pipes open, and though it has closed them before its end itself."""
    if is_old:
        monkeypatch.setattr(os, "pidfd_open", refuse)
    script = "sleep 1000 & echo $!; exec >&- 2>&-; sleep 0.2; exit 7"
    heard = bytearray()
    started = ProgramProcess.start(("sh", "-c", script), dict(os.environ), b"")
    assert started.follow(heard.extend, heard.extend, lambda: None) == 7
    os.kill(int(heard), 9)


def test_a_program_does_not_outlive_whoever_follows_it() -> None:
    pids: list[int] = []

    def fail(data: bytes) -> None:
        pids.append(int(data))
        raise ConnectionError

    started = ProgramProcess.start(("sh", "-c", "echo $$; exec sleep 1000"), dict(os.environ), b"")
    with pytest.raises(ConnectionError):
        started.follow(fail, fail, lambda: None)
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_program_that_cannot_be_started_leaves_no_descriptors() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(FileNotFoundError):
        ProgramProcess.start(("no-such-program",), {}, b"")
    assert set(Path("/proc/self/fd").iterdir()) == before
