"""What the first call of a process costs: a program of its own, which enqueues one job and tells its CPU.

Importing the library and defining the job come before: a program that only defines jobs pays for no store.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.jobs import STAMP, program

ROOT = Path(__file__).parent.parent
SECONDS = 60


def milliseconds(address: str) -> float:
    """CPU milliseconds of the first call of a fresh process on this database, which has its schema."""
    command = [sys.executable, "-m", "bench.first_call", address]
    ran = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr[-2000:])
    return float(ran.stdout)


async def _call(address: str) -> float:
    app = program(address)
    job = app.new_job(STAMP, {"stamps": "nowhere"})
    began = time.process_time()
    await app.enqueue_many([job])
    took = time.process_time() - began
    await app.close()
    return 1e3 * took


if __name__ == "__main__":
    print(asyncio.run(_call(sys.argv[1])))
