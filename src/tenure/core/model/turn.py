"""The store's answer to one turn of a worker."""

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.model.aside import Aside
from tenure.core.model.lease import Claimed
from tenure.core.model.outcome import Settled


class TurnResult(Struct, frozen=True):
    """What became of a worker's reports, what it owns now, and jobs put aside as they cannot be claimed."""

    settled: Settled
    claimed: Sequence[Claimed]
    asides: Sequence[Aside] = ()
