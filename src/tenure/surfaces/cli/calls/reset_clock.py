"""`tenure migrate --reset-clock`: sets the clock of a file that is ahead of the machine's back to it."""

import click

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.reports.restores import WorkersSeen
from tenure.storage.contract.store import Store


async def reset(store: Store, *, forced: bool) -> None:
    """Set the clock back; says what was done."""
    answer = await store.reset_clock(forced=forced)
    if answer is None:
        raise click.ClickException(
            "nothing was changed: the clock of PostgreSQL is its server's; set that one right, by NTP"
        )
    if isinstance(answer, WorkersSeen):
        raise click.ClickException(_refusal(answer))
    seconds = answer.by.total_seconds()
    if not seconds:
        click.echo("the clock is not ahead of this machine's: nothing was changed")
        return
    click.echo(
        f"clock set back by {seconds:,.0f} s: {answer.leases} leases ended, {answer.waits} waits and "
        f"{answer.schedules} schedules brought forward"
    )


def _refusal(seen: WorkersSeen) -> str:
    last = seen.workers[0]
    others = f" and {len(seen.workers) - 1} more" if len(seen.workers) > 1 else ""
    return (
        f"nothing was changed: worker {last.id} on {last.host}{others} may still run; stop all workers and "
        f"try again {WORKER_ALIVE.total_seconds():.0f} s later. While the clock stands still, one that was "
        "killed seems to run: add --workers-stopped if none does"
    )
