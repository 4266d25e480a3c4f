"""The app of runs on PostgreSQL: those jobs, and one with transactions of its own."""

from typing import Any

from chaos.app import QUICK, app, enter, job
from tenure import Context

__all__ = ["ADDRESS", "app"]

ADDRESS = "CHAOS_SHOP"
"""The variable with the address; it has no password, as nobody here asks for one."""


@job("charge", retry=QUICK, max_attempts=8, database=ADDRESS)
async def charge(ctx: Context) -> int:
    """Charges twice."""
    enter("start", ctx)
    for turn in range(2):
        await ctx.transaction(f"charge {turn}", _charge, f"charge {turn}", ctx)
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


async def _charge(database: Any, step: str, ctx: Context) -> None:
    await database.execute("INSERT INTO charges VALUES ($1, $2, $3)", ctx.job_id, step, ctx.fence)
