"""Which form of a turn's statement is to be used: the shortest that does all that the turn may need.

Most jobs stand under no limits, and one that comes to an idle worker is claimed while nothing ends. Of those
that do, most begin as others end under the same ones, and need no slots but theirs. A form that was chosen by
mistake does no harm: slots that are not passed on are freed, and jobs that have none stay in line for the
next turn.
"""

from collections.abc import Collection, Iterable

Limits = tuple[int, ...]
"""The ids of the limits that jobs stand under."""

CLAIMING = "settle_and_claim.turn"
TOLD = "settle_and_claim.told"
BARE = "settle_and_claim.turn+settling"
PASSING = "settle_and_claim.turn+passing"
FULL = "settle_and_claim.turn+limits"

MOST_FENCES = 10_000
"""How many claims a process remembers the limits of."""


class Forms:
    """Keeps in mind which limits the jobs of each claim stand under, where all of them have the same."""

    def __init__(self) -> None:
        self._limits: dict[int, Limits] = {}

    def choose(self, ending: Collection[int], offered: set[Limits], *, passes: bool) -> str:
        """The form for a turn that settles jobs under these fences and claims from lines under such limits.

        `passes`: jobs that end make all the room that is wanted, and it may be passed on.
        """
        held = {self._limits.get(fence) for fence in ending}
        if held <= {()} and offered <= {()}:
            return BARE if ending else CLAIMING
        return PASSING if passes and len(held) == 1 and offered <= held else FULL

    def may_free(self, ending: Iterable[int]) -> bool:
        """Whether jobs under these fences may hold room under some limit, as far as is known."""
        return any(self._limits.get(fence) != () for fence in ending)

    def note(self, fences: Iterable[int], limits: set[Limits]) -> None:
        """Jobs were claimed under such limits."""
        for fence in fences:
            # A database that was restored counts from where it was before: it may be known for another claim.
            self._limits.pop(fence, None)
            if len(limits) == 1:
                [self._limits[fence]] = limits
        while len(self._limits) > MOST_FENCES:
            del self._limits[next(iter(self._limits))]
