"""The verbs of the SQLite store that mend what was changed by hand: each looks again as the only writer."""

from typing import Any
from uuid import UUID

import apsw
from msgspec.structs import replace

from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.storage.mapping.findings import SlotsMended
from tenure.storage.mapping.return_steps import DOCTOR
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database
from tenure.storage.sqlite.verbs.bisection import LOST


class Mending(Database):
    """Rows that are missing, and places that nobody frees."""

    async def mend_place(self, job: UUID) -> JobStanding | None:
        return await self._mend_row("mend_place", job, "dated", "mend")

    async def mend_timer(self, job: UUID) -> JobStanding | None:
        return await self._mend_row("mend_timer", job, "dated", "mend")

    async def mend_lease(self, job: UUID) -> JobStanding | None:
        def take_back(connection: apsw.Connection, turn: TransactionTime) -> JobStanding | None:
            values: dict[str, Any] = {**turn._asdict(), "job": str(job)}
            standing = self._standing(connection, "mend_lease", values)
            gone = self._scripts.one(connection, "mend_lease.gone", **values)
            if standing is None or not gone:
                return standing
            values |= gone[0]
            self._scripts.one(connection, "mend_lease.lend", **values)
            self._scripts.run_only(connection, "reap", LOST, [str(job)], **values, **DOCTOR, limit=-1)
            self._scripts.one(connection, "mend_lease.end", **values)
            moved = self._standing(connection, "mend_lease", values)
            return moved and replace(moved, moved=True)

        return await self._writer.run(take_back)

    async def mend_slots(self, name: str, key: str) -> SlotsMended:
        def free(connection: apsw.Connection, _turn: TransactionTime) -> SlotsMended:
            found = self._scripts.one(connection, "mend_slots.lock", name=name, key=key)
            if not found:
                return SlotsMended(0, 0)
            limited, held = found[0]["limited"], found[0]["held"]
            [used] = self._scripts.one(connection, "mend_slots.used", limited=limited)
            unleased = used["counted"] - used["owned"] - used["is_aside"]
            if unleased > 0:
                return SlotsMended(0, unleased)
            mended = self._scripts.one(connection, "mend_slots.mend", limited=limited, owned=used["owned"])
            return SlotsMended(held - used["owned"] if mended else 0, 0)

        return await self._writer.run(free)

    async def _mend_row(self, verb: str, job: UUID, *parts: str) -> JobStanding | None:
        def mend(connection: apsw.Connection, turn: TransactionTime) -> JobStanding | None:
            values = {**turn._asdict(), "job": str(job)}
            standing = self._standing(connection, verb, values)
            mended = [self._scripts.one(connection, f"{verb}.{part}", **values) for part in parts]
            return standing and replace(standing, moved=bool(mended[-1]))

        return await self._writer.run(mend)

    def _standing(self, connection: apsw.Connection, verb: str, values: dict[str, Any]) -> JobStanding | None:
        found = self._scripts.one(connection, f"{verb}.lock", **values)
        return JobStanding(found[0]["job"], State(found[0]["state"]), moved=False) if found else None
