"""What the kernel is asked for beyond what Python offers. Linux only."""

import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_call = _libc.prctl
_call.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the parent's thread that made it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was too late to ask
        os._exit(1)


def resume_after_parent() -> None:
    """Let the kernel resume this process, if it is stopped, when the parent's thread that made it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forgo_privileges() -> None:
    """Gain no privileges from now on by running a program; descendants neither."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def children() -> set[int]:
    """The children of this process, which has one thread; those that ended and wait to be reaped included."""
    try:
        # One reading may skip a child when another one is reaped meanwhile; two skip none that stayed.
        return _listed() | _listed()
    except FileNotFoundError:  # a kernel without that file
        return _searched(os.getpid())


def kill_group(pid: int, number: int) -> None:
    """Send a signal to the process and to its group, unless that is our own."""
    try:
        group = os.getpgid(pid)
        if group != os.getpgid(0):
            os.killpg(group, number)
        if group != pid:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):  # gone, or not ours to signal
        pass


def threads() -> int:
    """How many threads this process has, those that Python does not know of included."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208


def killed_for_memory() -> int:
    """How many processes the kernel has killed so far because memory had run out."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _prctl(option: int, value: int) -> None:
    if _call(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _listed() -> set[int]:
    return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}


def _searched(parent: int) -> set[int]:
    found = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208
        try:
            # The name of a program stands in parentheses and may hold anything, parentheses too.
            fields = Path(f"/proc/{int(entry)}/stat").read_text().rpartition(")")[2].split()
        except (ValueError, OSError):
            continue
        if int(fields[1]) == parent:
            found.add(int(entry))
    return found
