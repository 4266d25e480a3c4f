"""`tenure worker` as a run starts it: failpoints armed, and every signal of the engine on record.

    python -m chaos.worker FILE [arguments of `tenure worker`]

FILE takes one line of JSON for each signal. The rest is the product's own command.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from chaos import failpoints
from chaos.messages import passages
from tenure.__main__ import main as main_of_tenure
from tenure.core.signals import AttemptStarted, Signal
from tenure.surfaces.cli.process import log_output
from tenure.telemetry.logs.logs import EventLog


class Told(msgspec.Struct, frozen=True):
    """A signal of a worker's, when by CLOCK_MONOTONIC, and what is in it."""

    kind: str
    at: float
    told: dict[str, Any]


def main() -> None:
    """Arm, and be a worker."""
    path, *arguments = sys.argv[1:]
    failpoints.arm("worker")
    _keep_signals(path)
    if told := os.environ.get(passages.VARIABLE):
        from chaos.messages import tap  # loads what only such a worker needs

        tap.attach(Path(told))
    sys.argv = ["tenure", "worker", *arguments]
    main_of_tenure()


def _keep_signals(path: str) -> None:
    record = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    class Kept(EventLog):
        def __call__(self, signal: Signal) -> None:
            if not isinstance(signal, AttemptStarted):
                told = msgspec.to_builtins(signal, str_keys=True)
                line = Told(type(signal).__name__, time.monotonic(), told)
                os.write(record, msgspec.json.encode(line) + b"\n")
            super().__call__(signal)

    vars(log_output)["EventLog"] = Kept


if __name__ == "__main__":
    main()
