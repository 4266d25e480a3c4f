"""Handlers with transactions of their own, in every lane; what they write is a table beside the jobs."""

import os
import signal
from pathlib import Path
from typing import Any, cast

from tenure import Context, Tenure, backoff
from tenure.core.model.durable import StepDraft
from tenure.execution.handler import transactions
from tests.worker.durable_app import LANES, Params, entries

DATABASE = "PG_OF_CHARGES"
"""The variable with the address; handlers see no other one that begins so."""

SOON = backoff(base=0.01, cap=0.05)

app = Tenure()
_check = transactions._check_whole
_frozen: list[Path] = []


def freezing_check(kept: list[Any], draft: StepDraft) -> None:
    """Stop the process between the statement that keeps the step and COMMIT, if that is planned."""
    _check(kept, draft)
    if _frozen:
        _frozen.pop().write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)


transactions._check_whole = freezing_check


async def charge(connection: Any, job: str, amount: int) -> dict[str, int]:
    """Write a charge."""
    await connection.execute("INSERT INTO charges VALUES ($1, $2)", job, amount)
    return {"charged": amount}


def charge_plainly(connection: Any, job: str, amount: int) -> dict[str, int]:
    """The same with a plain driver."""
    connection.execute("INSERT INTO charges VALUES (%s, %s)", (job, amount))
    return {"charged": amount}


async def pay(_params: Params, ctx: Context) -> list[Any]:
    """Two charges; the first attempt fails behind the first of them."""
    assert "PGPASSWORD" not in os.environ
    first = await ctx.transaction("first", charge, str(ctx.job_id), 1)
    if ctx.attempt == 1:
        raise ConnectionError("half-way")
    return [ctx.attempt, first, await ctx.transaction("second", charge, str(ctx.job_id), 2)]


def pay_plainly(_params: Params, ctx: Context) -> list[Any]:
    """The same in plain code."""
    first = ctx.transaction_sync("first", charge_plainly, str(ctx.job_id), 1)
    if ctx.attempt == 1:
        raise ConnectionError("half-way")
    return [ctx.attempt, first, ctx.transaction_sync("second", charge_plainly, str(ctx.job_id), 2)]


for lane in LANES:
    if lane != "thread":
        app.job(f"{lane}.pay", lane=lane, retry=SOON, database=DATABASE)(pay)
    if lane != "async":
        app.job(f"{lane}.pay_plainly", lane=lane, retry=SOON, database=DATABASE)(pay_plainly)


@app.job("once", retry=SOON, database=DATABASE)
async def once(_params: Params, ctx: Context) -> int:
    """One charge."""
    await ctx.transaction("charge", charge, str(ctx.job_id), 1)
    return ctx.attempt


@app.job("once_plainly", lane="thread", retry=SOON, database=DATABASE)
def once_plainly(_params: Params, ctx: Context) -> int:
    """The same in plain code."""
    ctx.transaction_sync("charge", charge_plainly, str(ctx.job_id), 1)
    return ctx.attempt


@app.job("retries", lane="async", retry=SOON, database=DATABASE)
async def retries(_params: Params, ctx: Context) -> int:
    """Tries a transaction again within one attempt; what the failed one wrote is not there."""
    tries: list[Any] = []

    async def fail_first(connection: Any) -> int:
        tries.append(await charge(connection, str(ctx.job_id), len(tries)))
        if len(tries) == 1:
            raise ConnectionError("deadlock")
        return len(tries)

    assert await ctx.transaction("charge", fail_first, retry=2) == 2
    return ctx.attempt


@app.job("zombie", retry=SOON, database=DATABASE)
async def zombie(_params: Params, ctx: Context) -> int:
    """Has lost its lease, in the first attempt, by the time it would keep its step."""

    async def work(connection: Any) -> None:
        await charge(connection, str(ctx.job_id), 1)
        if ctx.attempt == 1:
            await connection.execute(
                "UPDATE tenure.lease SET expires_at = clock_timestamp() WHERE id = $1", ctx.fence
            )

    await ctx.transaction("charge", work)
    return ctx.attempt


@app.job("refused", lane="thread", max_attempts=1, database=DATABASE)
def refused(params: Params, ctx: Context) -> None:
    """What no transaction may do."""

    def work(connection: Any) -> Any:
        charge_plainly(connection, str(ctx.job_id), 1)
        match params["what"]:
            case "ends itself":
                connection.execute("COMMIT")
            case "goes on in another":
                connection.execute("ROLLBACK")
                connection.execute("BEGIN")
            case "no JSON":
                return object()
            case "too large":
                return "x" * 300_000
            case "a step within":
                ctx.step_sync("within", str)
        return None

    async def later(connection: Any) -> None:
        """Cannot be awaited in plain code."""

    if params["what"] == "no name":
        ctx.transaction_sync(cast("Any", work), work)
    ctx.transaction_sync("charge", later if params["what"] == "async" else work)


@app.job("unnamed", max_attempts=1)
async def unnamed(_params: Params, ctx: Context) -> None:
    """Names no database."""
    await ctx.transaction("charge", charge, str(ctx.job_id), 1)


@app.job("freezes", retry=SOON, database=DATABASE)
def freezes(params: Params, ctx: Context) -> int:
    """Stands still before its COMMIT in the first attempt, with progress on its way."""
    if ctx.attempt == 1:
        _frozen.append(Path(params["ledger"]))
    ctx.progress(0.5, "half")
    ctx.transaction_sync("charge", charge_plainly, str(ctx.job_id), 1)
    return ctx.attempt


@app.job("neighbour", lane="async", max_attempts=1)
async def neighbour(params: Params, ctx: Context) -> int:
    """Reports progress until the test says that it is over."""
    import asyncio

    while not entries(Path(params["ledger"])):
        ctx.progress(0.5)
        await asyncio.sleep(0.02)
    return ctx.attempt
