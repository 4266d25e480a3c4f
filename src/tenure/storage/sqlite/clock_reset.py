"""Sets a file's clock back to the machine's; `sql/after_restore.sql` has the statements."""

import time
from datetime import timedelta
from typing import Any

import apsw

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.reports.restores import ClockReset, SeenWorker, WorkersSeen
from tenure.core.schedule.schedule import Schedule
from tenure.storage.mapping.schedules import schedule_from
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.scripts import Scripts

_MICROSECOND = timedelta(microseconds=1)


def reset(
    scripts: Scripts, connection: apsw.Connection, turn: TransactionTime, *, forced: bool
) -> ClockReset | WorkersSeen:
    """Set the clock back, if it is ahead, and with it what waits by it; see the contract."""
    machine = time.time_ns() // 1000
    by = max(0, turn.now - machine)
    if not by:
        return ClockReset(timedelta(), 0, 0, 0)

    def run(script: str, **named: object) -> list[dict[str, Any]]:
        return scripts.one(connection, script, **named)

    seen = run("after_restore.seen", now=turn.now, alive=rows.duration(WORKER_ALIVE))
    if seen and not forced:
        workers = [SeenWorker(row["worker"], row["host"], row["seen_at"]) for row in seen]
        return WorkersSeen(workers, rows.moment(turn.now))
    leases = run("after_restore.clock_leases", machine=machine)
    waits = run("after_restore.clock_timers", machine=machine, by=by)
    run("after_restore.clock_waits", machine=machine, by=by)
    run("after_restore.clock_steps", machine=machine, by=by)
    schedules = 0
    for row in run("after_restore.clock_schedules", machine=machine):
        known = schedule_from(row)
        if isinstance(known, Schedule) and known.next_at is not None:
            next_at = known.asked.recurrence.next_after(rows.moment(machine))
            if next_at is not None and next_at < known.next_at:
                run("after_restore.clock_schedule", **known.name._asdict(), next_at=rows.micros(next_at))
                schedules += 1
    run("after_restore.clock_deliveries", machine=machine, by=by)
    for part in ("webhooks", "cursors", "queues", "receivers", "reminders", "workers"):
        run(f"after_restore.clock_{part}", machine=machine)
    run("after_restore.clock", machine=machine)
    return ClockReset(by * _MICROSECOND, len(leases), len(waits), schedules)
