"""Very many schedules `* * * * *` in a database: all of them due in this minute, or none for long."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import asyncpg

from bench.loop import run_on
from bench.sites import Site
from tenure.core.model.spec import Spec
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tenure.engine.client.registration import save_definitions
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store

DEFINITION = "ticked"
"""No worker serves it: what is measured is the firing."""

CALLERS = 64
LATEST = 35
"""The second of a minute up to which a round may begin: the next minute's ticks are not for it."""

FAR = timedelta(days=30)
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
_MICROS = 1_000_000


class Timetable:
    """The schedules of a site."""

    def __init__(self, site: Site, count: int) -> None:
        """Record so many, none of them due for a long time."""
        self.count = count
        self._address = site.address
        self._is_postgres = site.address.startswith("postgres")
        run_on(None, self._on_store(self._fill))
        self.put_off()
        site.tidy()

    def put_off(self) -> None:
        """Let none of them be due."""
        self._move(datetime.now(UTC) + FAR)

    def await_minute(self) -> None:
        """Wait until the minute is young enough for a round."""
        second = time.time() % 60
        if second > LATEST:
            time.sleep(60.5 - second)

    def make_due(self) -> None:
        """Let all of them be due: they wait for the minute that has begun."""
        self._move(datetime.now(UTC).replace(second=0, microsecond=0))

    def waiting(self) -> int:
        """How many are due and have not fired."""
        return int(self._ask("SELECT count(*) FROM {schedule} WHERE next_at <= {now}"))

    def _move(self, at: datetime) -> None:
        moment = f"'{at.isoformat()}'" if self._is_postgres else str(int(at.timestamp()) * _MICROS)
        # Their ticks go, too, or else nothing would fire that is on record for this minute.
        self._ask("DELETE FROM {tick}")
        self._ask(f"UPDATE {{schedule}} SET next_at = {moment}")

    async def _fill(self, store: Store) -> None:
        await save_definitions(store, [Spec(key=DEFINITION)], "bench")
        rule = Recurrence(cron="* * * * *", starts_at=_EPOCH)
        far = await store.now() + FAR

        async def add(caller: int) -> None:
            for number in range(caller, self.count, CALLERS):
                new = NewSchedule(
                    id=f"tick-{number}", job=ScheduledJob(definition=DEFINITION), recurrence=rule
                )
                await store.add_schedule(new, next_at=far)

        await asyncio.gather(*map(add, range(CALLERS)))

    async def _on_store(self, work: Callable[[Store], Awaitable[None]]) -> None:
        store = await open_store(self._address)
        try:
            await store.migrate()
            await work(store)
        finally:
            await store.close()

    def _ask(self, statement: str) -> Any:
        """The first value of a statement, in the words of the store."""
        if self._is_postgres:
            names = {"schedule": "tenure.schedule", "tick": "tenure.tick", "now": "now()"}
            return run_on(None, self._fetch(statement.format_map(names)))
        now = str(int(time.time() * _MICROS))
        names = {"schedule": "tenure_schedule", "tick": "tenure_tick", "now": now}
        connection = apsw.Connection(self._address.removeprefix("sqlite:///"))
        connection.set_busy_timeout(60_000)
        try:
            found = connection.execute(statement.format_map(names)).fetchone()
            return found[0] if found else None
        finally:
            connection.close()

    async def _fetch(self, statement: str) -> Any:
        connection = await asyncpg.connect(self._address)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()
