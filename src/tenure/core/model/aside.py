"""Jobs that were put aside: the database refused to move them, for a reason in its rows."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import StoreError
from tenure.core.model.lease import Lease, Line
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure


class Met(StrEnum):
    """The verb in which a job could not be moved."""

    SETTLE = "settle"
    CLAIM = "claim"
    PROMOTE = "promote"
    REAP = "reap"
    HAND_BACK = "hand_back"
    HEARTBEAT = "heartbeat"


class Aside(Struct, frozen=True, kw_only=True):
    """A job that was put aside: why, by which process and when, and what its attempt had reported.

    `code` is the database's name of the reason, if it has one; `fence` is that of the attempt under way, or
    0. `ending`, `result` and `error` come from the report; without a report `ending` is empty.
    """

    job: UUID
    line: Line
    namespace: str
    state: State
    fence: int
    verb: Met
    code: str | None
    text: str
    since: datetime
    by: str
    ending: Ending | None
    result: Document | None
    error: Failure | None

    @property
    def lease(self) -> Lease:
        """The lease of the attempt that was under way."""
        return Lease(self.job, self.fence)

    @property
    def why(self) -> str:
        """The database's message, with its code in front."""
        return self.text if self.code is None else f"{self.code}: {self.text}"


class AsidePage(Struct, frozen=True):
    """Jobs that were put aside, the latest first, and their total, counted up to a bound."""

    jobs: Sequence[Aside]
    in_all: int


class JobsAside(StoreError):
    """Jobs that the database refuses to move were put aside; nothing else was done.

    The same call succeeds without them. Their reports are kept with them until they are put back.
    """

    def __init__(self, asides: Sequence[Aside]) -> None:
        super().__init__(asides)
        self.asides = tuple(asides)

    def __str__(self) -> str:
        return "put aside: " + "; ".join(f"job {one.job} ({one.verb}, {one.why})" for one in self.asides)
