"""System calls that Python does not offer. May be imported anywhere, and used on Linux."""

import ctypes
import os
import signal
import struct
import sys
from os import getppid

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = int(signal.SIGKILL)

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""Landlock's system calls; their numbers are the same on every architecture."""
_ASK_FOR_VERSION = 1
_VERSION_WITH_SIGNALS = 6
_SCOPE_OF_SIGNALS = 1 << 1

if sys.platform == "linux":
    # Without types of arguments and without a copy of errno, both of which cost a fresh process many pages:
    # all that is passed fits into a C int, and none of these calls fails on a kernel that knows it.
    _prctl = ctypes.CDLL(None).prctl
    _syscall = ctypes.CDLL(None).syscall


def belong_to(parent: int) -> None:
    """Die when the parent's thread that made this process ends, and adopt the orphans of all descendants."""
    _set(_PR_SET_PDEATHSIG, _SIGKILL)
    _set(_PR_SET_CHILD_SUBREAPER, 1)
    if getppid() != parent:  # it ended before the call
        os._exit(1)


def resume_after_parent() -> None:
    """Let the kernel resume this process, if it is stopped, when the parent's thread that made it ends."""
    _set(_PR_SET_PDEATHSIG, int(signal.SIGCONT))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _set(_PR_SET_CHILD_SUBREAPER, 1)


def forgo_privileges() -> None:
    """Gain no privileges from now on by running a program; descendants neither."""
    _set(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Hide this process's memory, variables and descriptors from others of its user; not from root.

    A program that it executes is not hidden.
    """
    _set(_PR_SET_DUMPABLE, 0)


def can_keep_signals() -> bool:
    """Whether this kernel can confine a process's signals: Linux 6.12 with Landlock."""
    if sys.platform != "linux":
        return False
    version: int = _syscall(_CREATE_RULESET, None, 0, _ASK_FOR_VERSION)
    return version >= _VERSION_WITH_SIGNALS


def scope_of_signals() -> int:
    """A descriptor for `keep_signals`, which any number of processes may use."""
    # No access to files or to the network is handled; signals are scoped.
    ruleset = struct.pack("QQQ", 0, 0, _SCOPE_OF_SIGNALS)
    descriptor: int = _syscall(_CREATE_RULESET, ruleset, len(ruleset), 0)
    if descriptor < 0:
        raise OSError("the kernel refused to make a Landlock ruleset")
    return descriptor


def keep_signals(scope: int) -> None:
    """Let this process and its descendants send signals only to each other.

    Needs a process of one thread that has forgone privileges.
    """
    if _syscall(_RESTRICT_SELF, scope, 0) != 0:
        raise OSError("the kernel refused to restrict this process by Landlock")


def has_forgone_privileges(pid: int) -> bool:
    """Whether a process, or an ancestor of it, has forgone privileges; works for zombies too."""
    try:
        return b"\nNoNewPrivs:\t1\n" in _read(f"/proc/{pid}/status")
    except OSError:
        return False


def children() -> set[int]:
    """The children of this process, which has one thread; zombies included."""
    try:
        # Read in one go: a child is skipped only if another thread reaps one meanwhile.
        return _listed("thread-self")
    except FileNotFoundError:  # a kernel without that file
        return _searched(os.getpid())


def children_of_threads() -> set[int]:
    """The same for a process that may have several threads."""
    threads = [f"self/task/{thread}" for thread in os.listdir("/proc/self/task")]  # noqa: PTH208
    try:
        # Twice: a child that was skipped because another was reaped meanwhile is found the second time.
        return set().union(*map(_listed, threads * 2))
    except FileNotFoundError:  # or a thread that has ended
        return _searched(os.getpid())


def kill_group(pid: int, number: int) -> None:
    """Send a signal to the process and to its group, unless that group is our own."""
    try:
        group = os.getpgid(pid)
        if group != os.getpgid(0):
            os.killpg(group, number)
        if group != pid:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):  # gone, or not ours to signal
        pass


def kill_session(leader: int) -> None:
    """Kill the group of a session's leader, which the leader cannot leave."""
    try:
        os.killpg(leader, _SIGKILL)
    except (ProcessLookupError, PermissionError):  # there is none, or it is not ours to signal
        pass


def threads() -> int:
    """How many threads this process has, including those that Python did not start."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208


def killed_for_memory() -> int:
    """How many processes the kernel has killed so far because memory had run out."""
    try:
        for line in _read("/proc/vmstat").splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _set(option: int, value: int) -> None:
    if _prctl(option, value, 0, 0, 0) != 0:
        raise OSError(f"the kernel refused prctl option {option}")


def _listed(thread: str) -> set[int]:
    return set(map(int, _read(f"/proc/{thread}/children").split()))


def _searched(parent: int) -> set[int]:
    found = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208
        try:
            # The name of a program stands in parentheses and may hold anything, parentheses too.
            fields = _read(f"/proc/{int(entry)}/stat").rpartition(b")")[2].split()
        except (ValueError, OSError):
            continue
        if int(fields[1]) == parent:
            found.add(int(entry))
    return found


def _read(file: str) -> bytes:
    """The content of a file in /proc, without Python's file objects, whose pages a fresh fork would copy."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while more := os.read(descriptor, 65_536):
            content += more
        return content
    finally:
        os.close(descriptor)
