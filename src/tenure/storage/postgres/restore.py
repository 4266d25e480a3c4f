"""Lets a database that was restored go on; `sql/after_restore.sql` has the statements."""

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.reports.restores import LIFT, Resumed, SeenWorker, WorkersSeen
from tenure.storage.postgres.schema import COUNTED
from tenure.storage.postgres.wire.transaction import Transaction
from tenure.storage.schema import ledger

_COUNT_ON = (
    "CREATE OR REPLACE FUNCTION tenure.counted(number bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS '"
    f"{COUNTED}'"
)

_HOLD = """
    SET LOCAL lock_timeout = '10s';
    LOCK TABLE tenure.worker, tenure.lease, tenure.job, tenure.job_state, tenure.event
            IN SHARE ROW EXCLUSIVE MODE
"""


async def resume(run: Transaction, *, forced: bool) -> Resumed | WorkersSeen:
    """Count on above all marks, fences and places, and end all leases; see the contract."""
    await run.execute(ledger.POSTGRES.lock)
    await run.execute(_HOLD)
    seen = await run("after_restore.seen", alive=WORKER_ALIVE)
    if seen and not forced:
        workers = [SeenWorker(row["id"], row["host"], row["seen_at"]) for row in seen]
        return WorkersSeen(workers, seen[0]["now_at"])
    [numbers] = await run("after_restore.numbers")
    resumed = max(numbers["kept"], numbers["reached"]) + LIFT
    # A stream tells its place as one below a mark: that is not to fall into the gap. And a transaction that
    # has a number already, but has written nothing yet, must come out above it as well.
    offset = resumed + 2 - numbers["oldest"]
    await run.execute(_COUNT_ON.format(offset=offset))
    await run("after_restore.cut", kept=numbers["kept"], resumed=resumed)
    await run("after_restore.name")
    await run("after_restore.cursors", kept=numbers["kept"])
    await run("after_restore.lift", lift=LIFT)
    return Resumed(len(await run("after_restore.end")))
