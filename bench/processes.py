"""Processes of a bench: started and ended here, and what they and all below them have used."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ENDING_SECONDS = 20.0
"""How long a process that was told to end may take; then it is killed, with all below it."""

_PROC = Path("/proc")


class EndedEarly(RuntimeError):
    """A process has ended that was to run on."""


@contextmanager
def started(
    command: Sequence[str | Path],
    *,
    log: Path,
    folder: Path,
    environment: dict[str, str] | None = None,
    patience: float = ENDING_SECONDS,
) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that runs while the context lasts, its output in a file."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A Ctrl-C is for the bench, which then ends everybody in good order.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process, patience)


def family(first: int) -> list[int]:
    """A process and all below it."""
    below: dict[int, list[int]] = {}
    for pid, fields in _all().items():
        below.setdefault(int(fields[1]), []).append(pid)
    found = [first]
    for pid in found:
        found += below.get(pid, [])
    return found


def cpu(first: int) -> float | None:
    """CPU seconds of a process and all below it, those that have ended included; None if it is not known."""
    every = _all()
    ticks = sum(
        sum(int(every[pid][n]) for n in (11, 12, 13, 14))  # its own, and of those whose end it has seen
        for pid in family(first)
        if pid in every
    )
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else None


def memory(first: int) -> int | None:
    """Bytes of a process and all below it, what they share counted once; None if it is not known."""
    total = 0
    for pid in family(first):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
            total += _share(pid)
    return total * 1024 or None


def _share(pid: int) -> int:
    """Kibibytes of one process, of what is shared its part; all of it where a worker hides the rest."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except PermissionError:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 1024
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def await_line(words: str, log: Path, process: "subprocess.Popen[bytes]", *, seconds: float) -> None:
    """Wait until a process has said these words; raises RuntimeError with what it said instead."""
    deadline = time.monotonic() + seconds
    while words not in (said := log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"a process did not say {words!r}, but:\n{said[-2000:]}")
        time.sleep(0.01)


def _end(process: "subprocess.Popen[bytes]", patience: float) -> None:
    everybody = family(process.pid)
    process.terminate()
    try:
        process.wait(patience)
    except BaseException as error:  # also a second Ctrl-C
        for pid in everybody:
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def _all() -> dict[int, list[str]]:
    """What the kernel tells of every process, by its id: from the state on."""
    found = {}
    for path in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since it was listed
            # The name in front may hold blanks and brackets of its own.
            found[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    return found
