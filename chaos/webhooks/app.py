"""The jobs that webhooks tell of: one that succeeds, one that fails, and one that does so at first."""

from tenure import Context, Tenure, backoff

app = Tenure()


@app.job("beat", lane="async")
async def beat() -> None:
    """Nothing."""


@app.job("fail", lane="async", max_attempts=1)
async def fail() -> None:
    """Never succeeds."""
    raise ValueError("always")


@app.job("wobble", lane="async", max_attempts=20, retry=backoff(base=0.02, cap=0.2))
async def wobble(ctx: Context) -> None:
    """Fails at first."""
    if ctx.attempt == 1:
        raise ValueError("at first")
