"""An app with jobs that wait, and others that kill processes."""

import json
import os
import signal
import sys
from typing import Any

from tenure import Tenure, backoff
from tests.worker.lanes_app import wait

app = Tenure()


def kill(params: dict[str, Any], own: int = 0) -> int:
    """Kills all but its own attempt's processes, children first; returns how many it could kill."""
    killed = 0
    for pid in reversed(params["family"]):
        try:
            if pid not in {os.getpid(), own}:
                os.kill(pid, signal.SIGKILL)
                killed += 1
        except (PermissionError, ProcessLookupError):
            pass
    return killed


for lane in ("process", "warm", "spawn", "async"):
    app.job(f"{lane}.wait", lane=lane, retry=backoff(base=0.01, cap=0.05))(wait)


def kill_as_a_job(params: dict[str, Any]) -> int:
    """The same."""
    return kill(params)


app.job("process.kill")(kill_as_a_job)
app.job("warm.kill", lane="warm")(kill_as_a_job)
app.job("thread.kill", lane="thread")(kill_as_a_job)
app.command("command.kill", [sys.executable, "-m", "tests.worker.neighbours_app"])

if __name__ == "__main__":
    print(kill(json.load(sys.stdin), os.getppid()))
