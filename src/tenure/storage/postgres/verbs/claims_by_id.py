"""The verb of the PostgreSQL store that claims certain jobs.

Most jobs that are asked for stand in line: one statement claims them, and says of the others why not. Only
for those that are due, or whose lease has run out, a transaction promotes, reaps and then claims.
"""

from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.errors import DataRefused, StoreError
from tenure.core.model.claim_by_id import TheseClaimed
from tenure.core.model.lease import Claimed, Line, Order
from tenure.storage.mapping import claims_by_id as mapping
from tenure.storage.mapping import turn_rows
from tenure.storage.mapping.claims_by_id import DUE, EXPIRED
from tenure.storage.mapping.return_steps import REAPER
from tenure.storage.postgres import rows
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction

CLAIM_THESE = "claim_these"

Rows = Sequence[asyncpg.Record]


class ClaimsById(Database):
    """Claims of the jobs that messages name."""

    async def claim_these(self, order: Order, ids: Collection[UUID]) -> TheseClaimed:
        asked = mapping.asked(order, ids)
        try:
            return await self._claim_these(order, asked)
        except DataRefused:
            if len(asked) == 1:
                return TheseClaimed([], {asked[0]: mapping.REFUSED})
        # One job that is refused is not to hold up the others.
        return mapping.merged([await self.claim_these(order, [job]) for job in asked])

    async def _claim_these(self, order: Order, ids: Sequence[UUID]) -> TheseClaimed:
        if not ids:
            return TheseClaimed([], {})
        found = await self._pool.run(CLAIM_THESE, **_columns(order, ids))
        if any(row["why"] in (DUE, EXPIRED) for row in found):
            # What is claimed stays claimed, even if this fails: the ordinary claim finds the others.
            has_claimed = any(row["why"] is None for row in found)
            with suppress(StoreError) if has_claimed else nullcontext():
                found = [*found, *await self._free_and_claim(order, found)]
        claimed_rows = [row for row in found if row["why"] is None]
        self._choice.note({row["fence"] for row in claimed_rows}, {()})
        left = {row["job"]: row for row in found if row["why"] is not None}
        return mapping.answer(
            [_claimed(row) for row in claimed_rows],
            {job: mapping.unclaimed(row["why"], *_line_of(row)) for job, row in left.items()},
        )

    async def _free_and_claim(self, order: Order, found: Rows) -> Rows:
        """Promote and reap those of these jobs that need it, then claim what is in line."""
        due = [row["job"] for row in found if row["why"] == DUE]
        expired = [row for row in found if row["why"] == EXPIRED]
        lost = [row["job"] for row in expired]

        async def in_turn(run: Transaction) -> tuple[Rows, Rows, Rows]:
            promoted = await run("promote+named", named=due, limit=2 * len(due)) if due else []
            leases = sorted({row["lease"] for row in expired})
            named = {"named": lost, "leases": leases, "limit": len(leases), **REAPER}
            reaped = await run("reap+named", **named) if lost else []
            return promoted, reaped, await run(CLAIM_THESE, **_columns(order, [*due, *lost]))

        promoted, reaped, claimed = await self._pool.transact(in_turn)
        if reaped:
            self._scans.note_room()  # what they held under limits is free
        self._note_moved([*promoted, *reaped])
        return claimed


def _columns(order: Order, ids: Sequence[UUID]) -> dict[str, Any]:
    return {
        "ids": list(ids),
        **rows.lines(order.lines),
        "worker": order.worker,
        "lease_for": order.lease_for,
    }


def _line_of(row: asyncpg.Record) -> tuple[str, str, int]:
    return row["queue"], row["definition"], row["version"]


def _claimed(row: asyncpg.Record) -> Claimed:
    return turn_rows.claimed_from(Line(*_line_of(row)), *row[rows.CLAIM])
