"""Which form of a turn's statement to run: the shortest that does all that the turn may need.

Most jobs have no limits, and an idle worker claims without settling anything. Most jobs with limits begin as
others with the same limits end, and take over their slots. A wrong choice does no harm: slots that are not
passed on are freed, and jobs that get none stay in line for the next turn.
"""

from collections.abc import Collection, Iterable

Limits = tuple[int, ...]
"""The ids of a job's limits."""

CLAIMING = "settle_and_claim.turn"
"""Claims jobs without limits."""

BARE = "settle_and_claim.turn+settling"
"""Settles and claims jobs without limits."""

PASSING = "settle_and_claim.turn+passing"
"""Settles jobs and passes their slots on to jobs with the same limits."""

FULL = "settle_and_claim.turn+limits"
"""Settles and claims any jobs: frees slots and takes free ones."""

SPARSE = "settle_and_claim.turn+sparse"
"""FULL, for limits with room for more jobs than wait: it locks no more slots than there are jobs."""

NAMED = "settle_and_claim.turn+named"
"""FULL, but at each place it claims only the job right behind the given number."""

HINTED = "settle_and_claim.told"
"""Claims jobs without limits at the one place that hints have named."""

MOST_FENCES = 10_000
"""For how many claims a process remembers the limits."""


class StatementChoice:
    """Remembers the limits of each claim's jobs, if all of them have the same."""

    def __init__(self) -> None:
        self._limits: dict[int, Limits] = {}

    def choose(
        self, ending: Collection[int], offered: set[Limits], *, passes: bool, is_sparse: bool = False
    ) -> str:
        """The form for a turn that settles jobs of these fences and claims from lines with such limits.

        `passes`: the jobs that end free all the slots that are wanted, and these may be passed on.
        `is_sparse`: there is room for more jobs than wait.
        """
        held = {self._limits.get(fence) for fence in ending}
        if held <= {()} and offered <= {()}:
            return BARE if ending else CLAIMING
        if passes and len(held) == 1 and offered <= held:
            return PASSING
        return SPARSE if is_sparse else FULL

    def may_free(self, ending: Iterable[int]) -> bool:
        """Whether jobs of these fences may hold slots, as far as is known."""
        return any(self._limits.get(fence) != () for fence in ending)

    def note(self, fences: Iterable[int], limits: set[Limits]) -> None:
        """Jobs with such limits were claimed under these fences."""
        for fence in fences:
            # A restored database counts from an earlier number: the fence may be known from another claim.
            self._limits.pop(fence, None)
            if len(limits) == 1:
                [self._limits[fence]] = limits
        while len(self._limits) > MOST_FENCES:
            del self._limits[next(iter(self._limits))]
