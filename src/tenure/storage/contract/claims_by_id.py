"""Claims of certain jobs, which messages name; part of the storage contract."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from tenure.core.model.claim_by_id import TheseClaimed
from tenure.core.model.lease import Order


class ClaimsByIdStore(Protocol):
    """The verb for workers that messages lead to jobs."""

    async def claim_these(self, order: Order, ids: Collection[UUID]) -> TheseClaimed:
        """Claim these jobs, whatever stands before them in line; the answer says of each other why not.

        A job that is queued, in one of `order.lines`, becomes `running` under a fresh fence, one more
        attempt, as in any claim. One whose time has come is promoted before, and one whose lease has run out
        is reaped, which may end it. Nothing is claimed from a paused line, and no job under limits: both are
        left to the ordinary claim. A job that another transaction holds at this moment is passed over as
        `owned`, and one that the database refuses to move as `aside`. An id given twice counts once.
        InvalidInput if there are more ids than `order.limit`.
        """
