"""Where one call of `settle_and_claim` finds jobs: the scan that its process keeps, and its own look-ups."""

import time

from tenure.core.model.lease import Order
from tenure.storage.mapping.aging import FURTHER
from tenure.storage.postgres import rows
from tenure.storage.postgres.claims import line_scan
from tenure.storage.postgres.claims.line_scan import LineScan
from tenure.storage.postgres.claims.offers import Offer
from tenure.storage.postgres.wire.pool import Pool

MOST_IN_VAIN = 3
"""How often one call looks further into a line with very many priorities without getting a job there."""


class LineSearch:
    """The search of one call. It tries no place twice, unless it only guessed that the place is empty."""

    def __init__(self, pool: Pool, order: Order, scan: LineScan) -> None:
        self._pool = pool
        self._order = order
        self._scan = scan
        self._began = time.monotonic()
        self._lacked = order.limit
        self._tries_in_vain = 0
        self._front = line_scan.FRONT

    async def offers(self, returning: int) -> list[Offer]:
        """Where to claim. Without any known place it looks up lines until all have been seen."""
        scan, limit = self._scan, self._order.limit
        if not limit:
            return []
        if scan.is_stale:
            await self._look_up()
        offers = scan.offers(limit, returning)
        while not offers and not scan.freshness.saw_all_since(self._began):
            await self._look_up()
            offers = scan.offers(limit, returning)
        return offers

    async def more(self, lacking: int, *, is_vain: bool) -> list[Offer]:
        """Where to go on after a claim that lacked so many jobs; `is_vain` if it got none at all.

        First the known places that are left. Then those that a look-up finds, if limits had less room than
        expected, or if there are very many lines or priorities.
        """
        if is_vain and self._is_open():
            await self._look_up()
        offers = self._scan.offers(lacking, 0)
        # Nothing behind the front is offered. If other processes have claimed the front, look further.
        self._tries_in_vain += 1 if lacking == self._lacked else 0
        if not offers and self._scan.is_cut and self._tries_in_vain <= MOST_IN_VAIN:
            self._lacked = lacking
            self._front += max(line_scan.FRONT, lacking)  # each priority has a job or more
            await self._look_up()
            offers = self._scan.offers(lacking, 0)
        while not offers and self._is_open():
            await self._look_up()
            offers = self._scan.offers(lacking, 0)
        return offers

    def _is_open(self) -> bool:
        scan = self._scan
        return scan.has_guessed or (scan.is_doubtful and not scan.freshness.saw_all_since(self._began))

    async def _look_up(self) -> None:
        began = time.monotonic()
        found = await self._pool.run(
            "settle_and_claim.places",
            **rows.lines(self._order.lines),
            after_line=self._scan.after_line,
            most=line_scan.MOST_REACHED,
            walked_lines=list(self._scan.walked_to),
            walked_ranks=list(self._scan.walked_to.values()),
            front=self._front,
            further=FURTHER,
        )
        self._scan.learn(found, time.monotonic() - began, self._front)
