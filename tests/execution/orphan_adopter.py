"""A process that adopts two orphans, one of which had a guard that was killed. Prints which of them is left.

With `hurry` it gives up at once on an orphan that is not gone at the first look, and prints the warning.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from tenure.execution.parent import orphans as module
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.protocol import kernel
from tests.execution.attempts import is_alive


def leave() -> None:
    """Write down a process that will not end by itself, and wait for the end."""
    if os.fork() == 0:
        print(os.getpid(), flush=True)
    time.sleep(3600)


def piped(what: str) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", __spec__.name, what]
    return subprocess.Popen(program, stdout=subprocess.PIPE, start_new_session=True)


def orphan_of(left: subprocess.Popen[bytes]) -> int:
    """Kill a process that has a child, once that is there."""
    assert left.stdout is not None
    orphan = int(left.stdout.readline())
    left.send_signal(signal.SIGKILL)
    return orphan


def hurry() -> None:
    vars(module)["LONGEST"] = 0.0
    guards = OrphanGuards.adopting(on_left=print)
    guard = guards.start(lambda: piped("guard"))
    ward = orphan_of(guard)
    guards.wait(guard)
    print(ward)


def main() -> None:
    guards = OrphanGuards.adopting()
    other = piped("other")
    stranger = orphan_of(other)
    other.wait()
    guard = guards.start(lambda: piped("guard"))
    ward = orphan_of(guard)
    guards.wait(guard)
    print(f"stranger: {is_alive(stranger)}, ward: {is_alive(ward)}")
    with suppress(ProcessLookupError):
        os.kill(stranger, signal.SIGKILL)


match sys.argv[1:]:
    case []:
        main()
    case ["hurry"]:
        hurry()
    case ["other"]:
        leave()
    case ["guard"]:
        kernel.forgo_privileges()
        leave()
