"""The jobs that the schedules of a run make: one that does nothing, and one that takes longer than a tick."""

import asyncio
from datetime import timedelta

from tenure import Tenure

app = Tenure()


@app.job("beat", lane="async")
async def beat() -> None:
    """Nothing."""


@app.job("linger", lane="async", grace=0.5)
async def linger() -> None:
    """Is still at work when the next tick comes."""
    await asyncio.sleep(1.3)


beat.schedule("in-code", every=timedelta(seconds=1))
