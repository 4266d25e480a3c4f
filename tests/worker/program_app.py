"""An app whose jobs are programs, as a user would write it, beside a function."""

from pathlib import Path

from tenure import Context, Tenure, backoff

app = Tenure()

SOON = backoff(base=0.01, cap=0.05)

probe = app.command("probe", ["sh", "-c", "echo looking; cat"], memory="512M")


@probe.on_success
def note(ctx: Context) -> None:
    """Leave word of what was probed."""
    Path(ctx.params["note"]).write_text(f"{ctx.definition} {ctx.attempt}")


app.command(
    "tries",
    ["sh", "-c", 'test "$TENURE_ATTEMPT" -gt 1 && echo "$TENURE_ATTEMPT" || exit 75'],
    retry=SOON,
    retry_on=["ExitCode75"],
)
app.command("gives.up", ["sh", "-c", "exit 4"], retry=SOON, retry_on=["ExitCode75"])
app.command("dies", ["sh", "-c", "kill -9 $$"], retry=SOON, fatal_on=["KilledBySignal"])
app.command("fatal", ["sh", "-c", "exit 3"], retry=SOON, fatal_codes=[3])


@app.job("plain")
def plain() -> None:
    """Do nothing."""
