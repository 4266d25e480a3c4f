"""The jobs that run while versions are replaced; each writes into the ledger of chaos runs what it does."""

import os
from pathlib import Path

from chaos import ledger
from tenure import Context, Snooze, Tenure, backoff

LEDGER = "UPGRADE_LEDGER"
QUICK = backoff(base=0.02, cap=0.2)

app = Tenure()


def enter(kind: ledger.Kind, ctx: Context) -> None:
    ledger.write(os.environ[LEDGER], kind, ctx.job_id, ctx.attempt, ctx.fence)


def work(ctx: Context) -> int:
    """Start, have an effect, end."""
    enter("start", ctx)
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@app.job("plain", retry=QUICK, lane="thread")
def plain(ctx: Context) -> int:
    """Works at once."""
    return work(ctx)


@app.job("fails_once", retry=QUICK, max_attempts=5, lane="thread")
def fails_once(ctx: Context) -> int:
    """Waits for a timer once: its backoff."""
    if ctx.attempt == 1:
        enter("start", ctx)
        raise ValueError("the first attempt fails")
    return work(ctx)


@app.job("sleeps_once", retry=QUICK, max_attempts=5, lane="thread")
def sleeps_once(ctx: Context) -> int:
    """Waits for another one: it comes back without spending an attempt."""
    mark = Path(f"{os.environ[LEDGER]}-{ctx.job_id}")
    if not mark.exists():
        enter("start", ctx)
        mark.touch()
        raise Snooze(for_=0.1)
    return work(ctx)
