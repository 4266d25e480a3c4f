"""Priorities without starvation: how waiting makes up for urgency, and which share of claims it decides.

Strictly by priority, a steady flow of urgent jobs would keep the others waiting forever. So some claims go
by age as well: there a line and priority counts as one step of priority more urgent for each minute that its
first job has waited. Not all claims do: the first job of a long backlog is always old, and jobs that are
really urgent would have to wait as long as it has. This way, they wait for the next claim.
"""

from datetime import timedelta

STEP = timedelta(minutes=1)
"""How long a job waits in line for each step of priority that it moves up."""

FURTHER = 8
"""How many priorities of a line are read for age beyond those that are served first. The next such claim goes
on from there, so that all get their turn however many there are."""

SHARE = 0.25
"""The share of claims that go by age."""

_GOLDEN = 0.6180339887498949


def goes_by_age(turn: int) -> bool:
    """Whether the claim of this number goes by age; of five in a row at least one does.

    The golden ratio spreads them so that they never coincide with the lines' turns in going first: with
    every fourth claim, one of four lines would never be first in the others.
    """
    return turn * _GOLDEN % 1 < SHARE
