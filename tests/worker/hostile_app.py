"""A program whose jobs do what no job should, and one that behaves beside them."""

import time
from pathlib import Path
from typing import Any

from tenure import Context, Tenure
from tests.execution import hostile_app
from tests.worker.ledger_app import wait

app = Tenure()


@app.job("neighbour")
async def neighbour(params: dict[str, Any], ctx: Context) -> int:
    """Behaves."""
    return await wait.function(params, ctx)


@app.job("forks")
def forks(params: dict[str, Any], ctx: Context) -> None:
    """Makes three hundred processes in three generations, and stays."""
    hostile_app.forks_without_end(params["on"], ctx)


@app.job("allocates", memory="256MB")
def allocates(params: dict[str, Any], ctx: Context) -> int:
    """Takes two gigabytes, of which it may have an eighth."""
    return hostile_app.allocates(2 << 30, ctx)


@app.job("daemonises")
def daemonises(params: dict[str, Any], ctx: Context) -> str:
    """Leaves a daemon behind, by the book, and returns."""
    return hostile_app.daemonises(params["on"], ctx)


@app.job("floods")
def floods(params: dict[str, Any], ctx: Context) -> None:
    """Says very much and never ends the line."""
    hostile_app.floods(16 << 20, ctx)


@app.job("closes")
def closes(params: dict[str, Any], ctx: Context) -> None:
    """Closes the pipe to its worker, and stays."""
    hostile_app.closes_its_pipe(None, ctx)


@app.job("exits")
def exits(params: dict[str, Any], ctx: Context) -> None:
    """Exits as if all were well."""
    hostile_app.exits_silently(0, ctx)


@app.job("haunted")
async def haunted(params: dict[str, Any], ctx: Context) -> int:
    """Behaves, but has left a daemon, and one that forks on and on."""
    hostile_app.forks_on_and_on(f"{params['ledger']}-lock-{ctx.fence}", ctx)
    hostile_app.daemonises(f"{params['ledger']}-daemon-{ctx.fence}", ctx)
    return await wait.function(params, ctx)


@app.job("kills_parent")
def kills_parent(params: dict[str, Any], ctx: Context) -> None:
    """Ends the process that it was forked from, once its neighbour is there."""
    ledger = Path(params["ledger"])
    while not (ledger.exists() and ledger.read_text().endswith("\n")):
        time.sleep(0.01)
    hostile_app.kills_its_parent(params["on"], ctx)


@app.job("emits", timeout=1, grace=0.1)
def emits(params: dict[str, Any], ctx: Context) -> None:
    """Emits thirty thousand events in a row; each takes longer to hear than to say."""
    payload = {f"key {n}": n for n in range(500)}
    for _ in range(30_000):
        ctx.emit("much", payload)


@app.job("emits_among_others", timeout=1, grace=0.1, lane="async")
async def emits_among_others(params: dict[str, Any], ctx: Context) -> None:
    """The same on a loop that it shares."""
    emits.function(params, ctx)
