"""What every product is asked to do, in the same words: `python -m bench.peers.scripts.NAME COMMAND ...`.

`prepare` makes its tables, `fill` puts many jobs in line, `singly` and `bulk` are timed, `starts` gives an
idle worker one job at a time, `paced` gives it jobs at a pace, whether or not those before have begun, `work`
is the worker where the product has no program of its own for it.
Answers are one line of JSON. Imports nothing but the standard library: it runs in every environment.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from bench.stamps import Stamps

ADDRESS = os.environ.get("BENCH_ADDRESS", "")
"""Of the database, the Redis or the file that the jobs are in."""

AT_ONCE = 1_000
"""Jobs in one call of `many`."""

PAUSES = (0.05, 0.15)
"""Seconds between two jobs of an idle worker: at random, so that nobody's pace can be met."""

LONGEST = 20.0
"""Seconds that an idle worker may take to start a job, and to start itself."""


class Product(Protocol):
    """A product as its users call it. A job's one argument is the file that it leaves a stamp in."""

    async def prepare(self) -> None:
        """Make what must be there before the first job, once for a database."""

    async def open(self) -> None:
        """Connect."""

    async def one(self, stamps: str) -> None:
        """Put one job in line; it is accepted when this returns."""

    async def many(self, stamps: str, jobs: int) -> None:
        """Put jobs in line at once, in the way that the product has for many."""

    async def close(self) -> None:
        """Disconnect."""


def drive(product: Product, work: Callable[[], None] | None = None) -> None:
    """Do what the command line asks for."""
    command, *arguments = sys.argv[1:]
    if command == "work" and work is not None:
        work()
    elif command == "prepare":
        asyncio.run(product.prepare())
    else:
        jobs, stamps, *pace = int(arguments[0]), *arguments[1:]
        print(json.dumps(asyncio.run(_asked(product, command, jobs, stamps, *pace))), flush=True)


async def _asked(product: Product, command: str, jobs: int, stamps: str, *pace: str) -> object:
    await product.open()
    try:
        match command:
            case "fill":
                return await _bulk(product, jobs, stamps)
            case "bulk":
                await product.many(stamps, 1)  # so that the first call's own costs are not counted
                return await _bulk(product, jobs, stamps)
            case "singly":
                await product.one(stamps)
                return await _singly(product, jobs, stamps)
            case "starts":
                return await _starts(product, jobs, Stamps(Path(stamps)))
            case "paced":
                seconds, callers = float(pace[0]), int(pace[1])
                return await _paced(product, jobs, Path(stamps), seconds=seconds, callers=callers)
            case _:
                raise SystemExit(f"{command}: not one of prepare, fill, bulk, singly, starts, paced, work")
    finally:
        await product.close()


async def _bulk(product: Product, jobs: int, stamps: str) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    for done in range(0, jobs, AT_ONCE):
        await product.many(stamps, min(AT_ONCE, jobs - done))
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


async def _singly(product: Product, jobs: int, stamps: str) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(jobs):
        await product.one(stamps)
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


async def _starts(product: Product, jobs: int, stamps: Stamps) -> list[float]:
    """Milliseconds from before each call to the job's first line. The first job is to wake everybody up."""
    found = []
    for number in range(jobs + 1):
        await asyncio.sleep(random.uniform(*PAUSES))
        before = len(stamps)
        called = time.monotonic()
        await product.one(str(stamps.path))
        deadline = called + LONGEST
        while len(stamps) == before:
            if time.monotonic() > deadline:
                raise SystemExit(f"a job had not begun {LONGEST:g} s after it was enqueued")
            await asyncio.sleep(0.001)
        if number:
            found.append((stamps.read()[before] - called) * 1e3)
    return found


async def _paced(
    product: Product, jobs: int, folder: Path, *, seconds: float, callers: int
) -> dict[str, list[float]]:
    """Milliseconds from before each call to the job's first line, and to the call's return.

    A job comes every so many seconds on average, from one of the callers, which share a process. Each leaves
    its stamp in a file of its own, so that none is taken for another. The first ones wake everybody up.
    """
    await asyncio.gather(*(product.one(str(folder / f"first-{number}")) for number in range(callers)))
    for number in range(callers):
        await _begun(folder / f"first-{number}")
    called, answered = [0.0] * jobs, [0.0] * jobs

    async def call(first: int) -> None:
        due = time.monotonic() + random.uniform(0, seconds * callers)
        for number in range(first, jobs, callers):
            due = max(due + random.uniform(0.5, 1.5) * seconds * callers, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
            called[number] = time.monotonic()
            await product.one(str(folder / str(number)))
            answered[number] = time.monotonic()

    await asyncio.gather(*map(call, range(callers)))
    begun = [await _begun(folder / str(number)) for number in range(jobs)]
    return {
        "starts": [(begun[number] - called[number]) * 1e3 for number in range(jobs)],
        "calls": [(answered[number] - called[number]) * 1e3 for number in range(jobs)],
    }


async def _begun(path: Path) -> float:
    deadline = time.monotonic() + LONGEST
    stamps = Stamps(path)
    while not len(stamps):
        if time.monotonic() > deadline:
            raise SystemExit(f"a job had not begun {LONGEST:g} s after it was enqueued")
        await asyncio.sleep(0.001)
    return stamps.read()[0]
