"""One turn of a worker, as the store answers it."""

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.aside import Aside
from tenure.core.lease import Claimed
from tenure.core.outcome import Settled


class Round(Struct, frozen=True):
    """What became of a worker's reports, what it owns now, and what was put aside: it cannot be claimed."""

    settled: Settled
    claimed: Sequence[Claimed]
    asides: Sequence[Aside] = ()
