"""A small worker in a process of its own: runs one attempt and prints how it ended.

Started as root it can become an ordinary user first.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tenure.execution.lanes import Lanes
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.settings.sources import load
from tests.execution.attempts import ROOT, run

NOBODY = 65534
ORDINARY = "ordinary"


def supervisor(
    user: str,
    target: str,
    definition: str,
    params: object,
    limits: Mapping[str, Any],
    *,
    lane: str = "process",
    **options: Any,
) -> subprocess.Popen[str]:
    """Start one as `root` or as an ordinary user; without root it is an ordinary user in any case."""
    become: list[str] = []
    if user == ORDINARY and os.getuid() == 0:
        # The interpreter may lie in a folder of root's: reading, and no more than that, stays allowed.
        reading = "+dac_read_search"
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        become += [f"--inh-caps={reading}", f"--ambient-caps={reading}"]
    arguments = [target, definition, json.dumps(params), json.dumps(limits), lane]
    command = [*become, sys.executable, "-m", "tests.execution.tiny_worker", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options
    )


def belongings(folder: Path, user: str) -> Path:
    """A folder that this user may write to."""
    folder.mkdir()
    if user == ORDINARY and os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


async def _main(target: str, definition: str, params: str, limits: str, lane: str) -> None:
    environment = ChildEnvironment(os.environ, load().settings.child_env)
    lanes = Lanes(target, environment=environment)
    try:
        await lanes.start()
        bound = msgspec.json.decode(limits, type=ResourceLimits)
        ended = await run(lanes.named(lane), definition, json.loads(params), timeout=600, limits=bound)
    finally:
        await lanes.close()
    print(msgspec.json.encode(ended.end).decode())


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
