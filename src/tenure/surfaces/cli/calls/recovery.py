"""`tenure migrate --after-restore` and `--reset-clock`: let a database go on."""

import click

from tenure.core.model.aside import JobsAside
from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.reports.restores import WorkersSeen
from tenure.storage.contract.store import Store

_AT_ONCE = 1000
"""Leases whose jobs are taken back together."""


async def resume(store: Store, *, forced: bool) -> None:
    """Let the database go on, and take back what was under its leases; says what was done."""
    answer = await store.resume_after_restore(forced=forced)
    if isinstance(answer, WorkersSeen):
        raise click.ClickException(_refusal(answer))
    jobs = await _take_back(store, answer.leases)
    click.echo(f"restored: {_count(answer.leases, 'lease')} ended, {_count(jobs, 'job')} taken back")


async def _take_back(store: Store, leases: int) -> int:
    """Reap what was under ended leases; where this is killed, any worker goes on with it."""
    taken = 0
    while leases > 0:
        try:
            taken += len(await store.reap(_AT_ONCE))
        except JobsAside as error:
            for aside in error.asides:
                click.echo(f"Warning: job {aside.job} cannot be moved and was put aside", err=True)
            continue
        leases -= _AT_ONCE
    return taken


def _refusal(seen: WorkersSeen) -> str:
    last = seen.workers[0]
    ago = round((seen.now - last.seen_at).total_seconds())
    when = f"{ago} s ago" if ago >= 0 else f"{-ago} s ahead of the store's clock"
    others = f" and {len(seen.workers) - 1} more" if len(seen.workers) > 1 else ""
    return (
        f"nothing was changed: worker {last.id} on {last.host}{others} may still run, last seen {when}; "
        f"stop all workers and try again {WORKER_ALIVE.total_seconds():.0f} s later, "
        "or add --workers-stopped if none runs and this comes from the backup"
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


async def reset_clock(store: Store, *, forced: bool) -> None:
    """Set the clock back; says what was done."""
    answer = await store.reset_clock(forced=forced)
    if answer is None:
        raise click.ClickException(
            "nothing was changed: the clock of PostgreSQL is its server's; set that one right, by NTP"
        )
    if isinstance(answer, WorkersSeen):
        raise click.ClickException(_refusal_to_reset(answer))
    seconds = answer.by.total_seconds()
    if not seconds:
        click.echo("the clock is not ahead of this machine's: nothing was changed")
        return
    click.echo(
        f"clock set back by {seconds:,.0f} s: {answer.leases} leases ended, {answer.waits} waits and "
        f"{answer.schedules} schedules brought forward"
    )


def _refusal_to_reset(seen: WorkersSeen) -> str:
    last = seen.workers[0]
    others = f" and {len(seen.workers) - 1} more" if len(seen.workers) > 1 else ""
    return (
        f"nothing was changed: worker {last.id} on {last.host}{others} may still run; stop all workers and "
        f"try again {WORKER_ALIVE.total_seconds():.0f} s later. While the clock stands still, one that was "
        "killed seems to run: add --workers-stopped if none does"
    )
