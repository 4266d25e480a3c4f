"""What both stores share of claiming jobs by their ids."""

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.core.model.claim_by_id import TheseClaimed, Unclaimed, WhyUnclaimed
from tenure.core.model.lease import Claimed, Line, Order
from tenure.storage.mapping.turn_rows import line

DUE, EXPIRED = "due", "expired"
"""What a job may need before it can be claimed: to be promoted, or reaped."""

_MEANING = {DUE: WhyUnclaimed.NOT_DUE, EXPIRED: WhyUnclaimed.OWNED}
"""What is said of a job that another transaction kept from being promoted or reaped."""


def asked(order: Order, ids: Collection[UUID]) -> list[UUID]:
    """The jobs asked for, each once. Raises InvalidInput if they are more than the order may claim."""
    once = sorted(set(ids))
    if len(once) > order.limit:
        raise InvalidInput("ids", f"are {len(once)}", f"give as many as the order claims: {order.limit}")
    return once


def unclaimed(why: str, queue: str | None, definition: str, version: int) -> Unclaimed:
    """Why a job was not claimed, as its row says it."""
    its_line: Line | None = None if queue is None else line(queue, definition, version)
    return Unclaimed(_MEANING.get(why) or WhyUnclaimed(why), its_line)


def answer(claimed: Sequence[Claimed], left: dict[UUID, Unclaimed]) -> TheseClaimed:
    """The answer, in which each job stands once."""
    taken = {one.lease.job for one in claimed}
    return TheseClaimed(claimed, {job: why for job, why in left.items() if job not in taken})


def merged(alone: Iterable[TheseClaimed]) -> TheseClaimed:
    """The answer of several claims as one."""
    claimed: list[Claimed] = []
    left: dict[UUID, Unclaimed] = {}
    for each in alone:
        claimed += each.claimed
        left |= each.left
    return TheseClaimed(claimed, left)


REFUSED = Unclaimed(WhyUnclaimed.ASIDE)
"""A job that the database refuses to move. The ordinary claim, which meets it as well, puts it aside."""
