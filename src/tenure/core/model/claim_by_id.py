"""The answer to a claim of certain jobs: what was claimed, and why the others were not."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.model.lease import Claimed, Line


class WhyUnclaimed(StrEnum):
    """Why a job was not claimed by its id."""

    UNKNOWN = "unknown"
    FINISHED = "finished"
    OWNED = "owned"
    """It runs, or another claim has locked it at this moment."""

    NOT_DUE = "not-due"
    UNSERVED = "unserved"
    """Its line is not among those asked for."""

    PAUSED = "paused"
    LIMITED = "limited"
    """It stands under limits, which only the ordinary claim counts."""

    ASIDE = "aside"
    """The database refuses to move it: it is aside, or the ordinary claim will put it there."""


class Unclaimed(Struct, frozen=True):
    """A job that was not claimed: why, and the line in which it stands, unless it is unknown."""

    why: WhyUnclaimed
    line: Line | None = None


class TheseClaimed(Struct, frozen=True):
    """The answer for each job asked for: it is among the `claimed`, or `left` says why not."""

    claimed: Sequence[Claimed]
    left: Mapping[UUID, Unclaimed]
