"""Lets a file that was restored go on; `sql/after_restore.sql` has the statements."""

from typing import Any
from uuid import uuid4

import apsw

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.reports.restores import LIFT, Resumed, SeenWorker, WorkersSeen
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.scripts import Scripts


def resume(
    scripts: Scripts, connection: apsw.Connection, turn: TransactionTime, *, forced: bool
) -> Resumed | WorkersSeen:
    """Count on above all marks, fences and places, and end all leases; see the contract."""

    def run(part: str, **named: object) -> list[dict[str, Any]]:
        return scripts.one(connection, f"after_restore.{part}", **named)

    seen = run("seen", now=turn.now, alive=rows.duration(WORKER_ALIVE))
    if seen and not forced:
        workers = [SeenWorker(row["worker"], row["host"], row["seen_at"]) for row in seen]
        return WorkersSeen(workers, rows.moment(turn.now))
    kept = turn.mark - 1
    resumed = kept + LIFT
    run("cut", kept=kept, resumed=resumed, now=turn.now)
    run("name", id=str(uuid4()))
    # A stream tells its place as one below a mark: that is not to fall into the gap.
    run("lift", counted=resumed + 2, lift=LIFT)
    return Resumed(len(run("end", now=turn.now)))
