"""Where one call of a worker finds jobs: what its process knows, and what it looks up itself."""

import time

from tenure.core.lease import Order
from tenure.storage.postgres import places, rows
from tenure.storage.postgres.offers import Offer
from tenure.storage.postgres.places import Places
from tenure.storage.postgres.pool import Pool


class Search:
    """Begins with a call, and looks at no line twice during it."""

    def __init__(self, pool: Pool, order: Order, known: Places) -> None:
        self._pool = pool
        self._order = order
        self._known = known
        self._began = time.monotonic()

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

        What is left of what is known; and where limits have been less roomy than was believed, or lines are
        very many, what a look shows.
        """
        if is_vain and self._is_open():
            await self._look_up()
        offers = self._known.in_turn(lacking, 0)
        while not offers and self._is_open():
            await self._look_up()
            offers = self._known.in_turn(lacking, 0)
        return offers

    def _is_open(self) -> bool:
        return self._known.are_doubtful and not self._known.saw_all_since(self._began)

    async def _look_up(self) -> None:
        began = time.monotonic()
        found = await self._pool.run(
            "settle_and_claim.places",
            **rows.lines(self._order.lines),
            after_line=self._known.after_line,
            most=places.MOST_REACHED,
        )
        self._known.learn(found, time.monotonic() - began)
