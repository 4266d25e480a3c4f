"""The jobs of a run that are programs: this file, told by its argument which one to be.

It knows of its attempt what any program is told, by its environment and on standard input, and writes into
the same ledger as the functions of `app`.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

# Run as a file, it would find what is beside it, under names that others have too.
sys.path[0] = str(Path(__file__).parent.parent)

from chaos import ledger, seen  # noqa: E402

FAILED = 75


def enter(kind: ledger.Kind) -> None:
    """Write a line into the ledger."""
    given = os.environ
    job, attempt, fence = UUID(given["TENURE_JOB_ID"]), given["TENURE_ATTEMPT"], given["TENURE_FENCE"]
    ledger.write(given["CHAOS_LEDGER"], kind, job, int(attempt), int(fence))


def noop() -> None:
    """Have an effect, and answer with the fence."""
    enter("start")
    enter("effect")
    enter("end")
    print(os.environ["TENURE_FENCE"])


def fail_once() -> None:
    """Fail at first."""
    if os.environ["TENURE_ATTEMPT"] == "1":
        enter("start")
        sys.exit(FAILED)
    noop()


def die() -> None:
    """Die of a signal."""
    enter("start")
    os.kill(os.getpid(), signal.SIGKILL)


def look() -> None:
    """Write down the variables around it."""
    given = os.environ
    seen.write(given["CHAOS_LEDGER"], UUID(given["TENURE_JOB_ID"]), int(given["TENURE_FENCE"]))
    noop()


def stubborn() -> None:
    """Do not stop when asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seconds = json.load(sys.stdin)["seconds"]
    enter("start")
    time.sleep(seconds)


PROGRAMS: dict[str, Callable[[], None]] = {
    "noop": noop,
    "fail_once": fail_once,
    "die": die,
    "look": look,
    "stubborn": stubborn,
}
"""By the definition that each is the same as."""

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
