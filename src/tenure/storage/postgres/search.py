"""Where one call of a worker finds jobs: what its process knows, and what it looks up itself."""

import time

from tenure.core.lease import Order
from tenure.storage.aging import FURTHER
from tenure.storage.postgres import places, rows
from tenure.storage.postgres.offers import Offer
from tenure.storage.postgres.places import Places
from tenure.storage.postgres.pool import Pool

MOST_IN_VAIN = 3
"""How often one call looks anew at a line with very many priorities though it got nothing there."""


class Search:
    """Begins with a call, and looks at no place twice during it, unless it has guessed what is there."""

    def __init__(self, pool: Pool, order: Order, known: Places) -> None:
        self._pool = pool
        self._order = order
        self._known = known
        self._began = time.monotonic()
        self._lacked = order.limit
        self._tries_in_vain = 0
        self._front = places.FRONT

    async def offers(self, returning: int) -> list[Offer]:
        """Where to claim. Who believes that there is nothing looks again, unless that was just seen."""
        known, limit = self._known, self._order.limit
        if not limit:
            return []
        if known.are_stale:
            await self._look_up()
        offers = known.in_turn(limit, returning)
        while not offers and not known.saw_all_since(self._began):
            await self._look_up()
            offers = known.in_turn(limit, returning)
        return offers

    async def more(self, lacking: int, *, is_vain: bool) -> list[Offer]:
        """Where to go on after a claim that lacked so many jobs, or was in vain altogether.

        What is left of what is known; and where limits have been less roomy than was believed, or lines or
        their priorities are very many, what a look shows.
        """
        if is_vain and self._is_open():
            await self._look_up()
        offers = self._known.in_turn(lacking, 0)
        # Nobody is offered who stands behind a front that somebody else has claimed, or is about to.
        self._tries_in_vain += 1 if lacking == self._lacked else 0
        if not offers and self._known.are_cut and self._tries_in_vain <= MOST_IN_VAIN:
            self._lacked = lacking
            self._front += max(places.FRONT, lacking)  # at each priority there is a job or more
            await self._look_up()
            offers = self._known.in_turn(lacking, 0)
        while not offers and self._is_open():
            await self._look_up()
            offers = self._known.in_turn(lacking, 0)
        return offers

    def _is_open(self) -> bool:
        known = self._known
        return known.has_guessed or (known.are_doubtful and not known.saw_all_since(self._began))

    async def _look_up(self) -> None:
        began = time.monotonic()
        found = await self._pool.run(
            "settle_and_claim.places",
            **rows.lines(self._order.lines),
            after_line=self._known.after_line,
            most=places.MOST_REACHED,
            walked_lines=list(self._known.walked_to),
            walked_ranks=list(self._known.walked_to.values()),
            front=self._front,
            further=FURTHER,
        )
        self._known.learn(found, time.monotonic() - began, self._front)
