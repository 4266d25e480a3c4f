"""Jobs that were put aside: the database refused to move them, for a reason that lies in its rows."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.documents import Document
from tenure.core.lease import Lease, Line
from tenure.core.outcome import Ending, Failure
from tenure.core.states import State


class Met(StrEnum):
    """The verb that met a job which cannot be moved."""

    SETTLE = "settle"
    CLAIM = "claim"
    PROMOTE = "promote"
    REAP = "reap"
    HAND_BACK = "hand_back"
    HEARTBEAT = "heartbeat"


class Aside(Struct, frozen=True, kw_only=True):
    """A job that was put aside: what refused it, who met it and when, and what its attempt had reported.

    `code` is what the database calls its reason, where it names one; `fence` is of the attempt that was under
    way, 0 where none was. `ending`, `result` and `error` are the report's; nobody had reported where `ending`
    is empty.
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
        """The claim by which the attempt was somebody's."""
        return Lease(self.job, self.fence)

    @property
    def why(self) -> str:
        """What the database said, its name for it first."""
        return self.text if self.code is None else f"{self.code}: {self.text}"


class Asides(Struct, frozen=True):
    """Jobs that were put aside, the latest first, and how many there are in all, counted up to a bound."""

    jobs: Sequence[Aside]
    in_all: int
