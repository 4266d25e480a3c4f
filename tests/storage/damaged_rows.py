"""Rows that were made or removed by hand, past every guard: what a verb then meets."""

import asyncio
from uuid import UUID

import apsw
import asyncpg

from tenure.core.model.limit import Limit
from tests.storage.backends import Backend

SQLITE = "sqlite:///"
MAILBOX = Limit("mailbox", "ann", 2)


async def past_the_guards(address: str, text: str) -> None:
    """Run plain SQL on a database with its guards switched off."""
    if address.startswith(SQLITE):
        await asyncio.to_thread(_on_sqlite, address.removeprefix(SQLITE), text.replace("tenure.", "tenure_"))
        return
    connection = await asyncpg.connect(address)
    await connection.execute(f"SET session_replication_role = replica; {text}")
    await connection.close()


def _on_sqlite(path: str, text: str) -> None:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(10_000)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute(text)
    connection.close()


async def next_event(address: str, job: UUID) -> None:
    """An event with the number that the job's next step will have."""
    await past_the_guards(
        address,
        f"""INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
            SELECT s.id, s.n + 1, 'queued', 'running', 1, 1, s.updated_at, 'started', 'nobody', j.mark
              FROM tenure.job_state s JOIN tenure.job j ON j.id = s.id WHERE s.id = '{job}'""",
    )


async def attempt(address: str, job: UUID) -> None:
    """A record of the attempt that runs, as if it had ended."""
    await past_the_guards(
        address,
        f"""INSERT INTO tenure.attempt (job, fence, number, worker, started_at, ended_at, ending)
            SELECT id, fence, attempt, 'nobody', started_at, updated_at, 'succeeded'
              FROM tenure.job_state WHERE id = '{job}'""",
    )


async def result(address: str, job: UUID) -> None:
    """A result of a job that has none."""
    await past_the_guards(address, f"INSERT INTO tenure.result (job, body) VALUES ('{job}', '1')")


async def no_lease(address: str, job: UUID) -> None:
    """The row of the job's lease is gone."""
    await past_the_guards(
        address,
        f"DELETE FROM tenure.lease WHERE id = (SELECT lease FROM tenure.job_state WHERE id = '{job}')",
    )


async def take_all_places(backend: Backend) -> None:
    """Both places of MAILBOX are taken, whether or not jobs hold them."""
    await backend.sql(
        "UPDATE tenure.limited SET held = 2"
        if backend.kind == "sqlite"
        else "UPDATE tenure.slot SET is_held = true WHERE n <= 2"
    )


HARMS = {"event": next_event, "attempt": attempt, "result": result, "lease": no_lease}
"""By what was made, or removed, for a job that runs."""


async def mend(address: str, job: UUID) -> None:
    """Remove from a job's record the rows of the worker `nobody`."""
    await past_the_guards(
        address,
        f"""DELETE FROM tenure.event WHERE job = '{job}'
               AND n > (SELECT n FROM tenure.job_state WHERE id = '{job}')""",
    )
    await past_the_guards(address, f"DELETE FROM tenure.attempt WHERE job = '{job}' AND worker = 'nobody'")
    await past_the_guards(address, f"DELETE FROM tenure.result WHERE job = '{job}'")
