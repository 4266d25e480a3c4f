"""Priorities without starvation: how waiting makes up for urgency, and how much of the room it may have.

Strictly by priority, urgent jobs that keep coming would keep the others waiting for ever. So some claims go
by age as well: there a place counts as one step of priority more urgent for each minute that its first job
has waited in line. Not all of them do: the first job of a long backlog is always old, and jobs that are
really urgent would have to wait as long as it has. As it is, they wait for the next claim.
"""

from datetime import timedelta

STEP = timedelta(minutes=1)
"""How long a job waits in line for each step of priority that it moves up."""

FURTHER = 8
"""How many priorities of a line are looked at for age beyond those that are served first. The next look goes
on from there, so that all get their turn however many there are."""

SHARE = 0.25
"""The share of claims that go by age."""

_GOLDEN = 0.6180339887498949


def goes_by_age(turn: int) -> bool:
    """Whether the claim of this number goes by age; of five in a row at least one does.

    The golden ratio spreads them so that they never fall in step with lines that take turns in going first:
    if it were every fourth claim, one of four lines would never be first in the others.
    """
    return turn * _GOLDEN % 1 < SHARE
