"""The verbs of the PostgreSQL store that mend what was changed by hand.

Each locks the one job first, and looks again in a second statement, which sees all that the lock waited for.
"""

from uuid import UUID

from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.storage.mapping.findings import SlotsMended
from tenure.storage.mapping.return_steps import DOCTOR
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction


class Mending(Database):
    """Rows that are missing, and places that nobody frees."""

    async def mend_place(self, job: UUID) -> JobStanding | None:
        return await self._mend_row("mend_place", job)

    async def mend_timer(self, job: UUID) -> JobStanding | None:
        return await self._mend_row("mend_timer", job)

    async def mend_lease(self, job: UUID) -> JobStanding | None:
        standing = await self._pool.transact(lambda run: _take_back(run, job))
        if standing is not None and standing.moved:
            self._scans.note_room()
            self._wake_all()
        return standing

    async def mend_slots(self, name: str, key: str) -> SlotsMended:
        mended = await self._pool.transact(lambda run: _free_slots(run, name, key))
        if mended.freed:
            self._look_again()
        return mended

    async def _mend_row(self, verb: str, job: UUID) -> JobStanding | None:
        async def mend(run: Transaction) -> JobStanding | None:
            found = await run(f"{verb}.lock", job=job)
            mended = await run(f"{verb}.mend", job=job)
            return JobStanding(job, State(found[0]["state"]), moved=bool(mended)) if found else None

        standing = await self._pool.transact(mend)
        if standing is not None and standing.moved:
            self._wake_all()
        return standing


async def _take_back(run: Transaction, job: UUID) -> JobStanding | None:
    found = await run("mend_lease.lock", job=job)
    gone = await run("mend_lease.gone", job=job)
    if not gone:
        return JobStanding(job, State(found[0]["state"]), moved=False) if found else None
    [lease] = gone
    await run("mend_lease.lend", job=job, fence=lease["fence"], owner=lease["owner"])
    [moved] = await run("reap+named", named=[job], leases=[lease["fence"]], limit=1, **DOCTOR)
    await run("mend_lease.end", fence=lease["fence"])
    return JobStanding(job, State(moved["state"]), moved=True)


async def _free_slots(run: Transaction, name: str, key: str) -> SlotsMended:
    loose = await run("mend_slots.lock", name=name, key=key)
    if not loose:
        return SlotsMended(0, 0)
    places = [row["n"] for row in loose]
    [mended] = await run("mend_slots.mend", limited=loose[0]["limited"], places=places)
    return SlotsMended(mended["freed"], mended["unleased"])
