"""Where a claim looks: the places in line, how far each has been emptied, and how much room limits leave.

A place is a (line, rank) that held jobs when it was last looked up. Looking up costs a query, so it is done
once a second and whenever a claim came back short; in between, what this process enqueues itself is added at
once. A hint says behind which number a claim begins: rows claimed long ago leave dead index entries in front,
and while some old snapshot is open nobody can remove them; without hints every claim would walk them all. The
look-up does walk them: when that takes long, it is done less often, but at least every five seconds.

How long the first job of a place has waited is looked up with it, for the claims that go by age. Once it is
claimed, the next one passes for as old as the last one claimed there, until somebody looks.

A line whose limits have no room is passed over until some is believed to be free again: free when last looked
up, less what was claimed since, more what this process gave back. Only so many limited lines go into one turn
as can fill it, since the free slots of each are locked while it lasts: the others are not offered this time,
and a claim that came back short goes on there. A place that has given less than it could is spent, and not
offered again until somebody puts jobs there or looks; so each turn is offered what may fill it.

Who has just found all its lines empty need not look when it hears where jobs were put in line: it claims at
once there, from the front. Nobody has looked whether that line is paused, or still the one it was: that claim
sees to it itself. Where there are limits, somebody looks first.

All of this only saves work. What a hint passed over (a transaction that committed late, a claim that was
rolled back) is found again by the next look-up, which begins at the front; what is free, the claim itself
finds out.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tenure.core.lease import Line
from tenure.storage.aging import FURTHER, STEP, goes_by_age
from tenure.storage.postgres.offers import Offer, Standing, spent
from tenure.storage.postgres.told import Place, Told
from tenure.storage.values import Row

FRESH_FOR = 1.0
"""Seconds for which a look-up is trusted, at least."""

WORTH = 40
"""For how many times its own duration a look-up is trusted, at least."""

STALE_AFTER = 5.0
"""Seconds after which no look-up is trusted, however long it took."""

FRONT = 10
"""At how many priorities of a line one look-up finds jobs; who has claimed all of those looks again."""

MOST_REACHED = 10_000
"""How many lines that are not empty one look-up passes through; the next goes on from there."""

MOST_REMEMBERED = 50_000
"""How many lines are remembered."""

_room = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode


class Places:
    """What is known of the lines that one order names."""

    def __init__(self, served: Collection[Line]) -> None:
        self._served = frozenset(served)
        self.known: dict[int, Standing] = {}
        self.after_line = 0
        self.walked_to: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._found: set[int] = set()
        self._hints: dict[Place, int] = {}
        self._spent: dict[Place, int] = {}
        self._doubted: set[Place] = set()
        self._news: set[Place] = set()
        self._waited: dict[Place, int] = {}
        self._free: dict[int, int] = {}
        self._lowered: set[int] = set()
        self._held: dict[int, int] = {}
        self._looked_up_at: float | None = None
        self._fresh_for = FRESH_FOR
        self._sweep_began = self._swept_from = -math.inf
        self._is_in_parts = False
        self._turn = 0
        self._passed_over = False
        self._is_unsure = False
        self.has_guessed = False
        """Whether places have been given up, since the last look, that may only have been crowded out."""
        self._are_empty = False
        self._told = Told()

    @property
    def are_stale(self) -> bool:
        """Whether it is time to look again."""
        return self._looked_up_at is None or time.monotonic() - self._looked_up_at > self._fresh_for

    @property
    def are_doubtful(self) -> bool:
        """Whether there may be jobs, or room for them, that are not known of."""
        return self._is_unsure or self._is_in_parts or self.are_cut

    @property
    def are_cut(self) -> bool:
        """Whether there are lines with more priorities than were looked at."""
        return bool(self._ends)

    def saw_all_since(self, moment: float) -> bool:
        """Whether every line was looked at since then; where they are very many, not long before will do."""
        return self._swept_from >= (moment - self._fresh_for if self._is_in_parts else moment)

    def learn(self, found: Iterable[Row], took: float, front: int = FRONT) -> None:
        """Take the rows of a look-up that took so many seconds; hints start over at the first job it saw.

        `front` is how many priorities of a line it passed through before it went on to others for their age.
        """
        self.walked(took)
        walks: dict[int, list[int]] = {}
        if len(self.known) > MOST_REMEMBERED:
            self.known.clear()
        self._found.clear()
        self._hints.clear()
        self._spent.clear()
        self._doubted.clear()
        self._is_unsure = self.has_guessed = False
        self._waited.clear()
        self._free.clear()
        self._lowered.clear()
        began_at, self.after_line = self.after_line, 0
        for row in found:
            if row["queue"] is None:
                self.after_line = row["line"]
                continue
            line = Line(row["queue"], row["definition"], row["version"])
            self.known[row["line"]] = Standing(line, tuple(row["limits"]))
            self._found.add(row["line"])
            self._hints[row["line"], row["rank"]] = row["seq"] - 1
            if row["n"] >= front:
                walks.setdefault(row["line"], []).append(row["rank"])
            if row["waited"] is not None and row["waited"] >= STEP:
                self._waited[row["line"], row["rank"]] = row["waited"] // STEP
            if row["room"] is not None:
                room = {int(limit): slots for limit, slots in _room(row["room"]).items()}
                self._free = {limit: free for limit, (free, _) in room.items()}
                self._lowered = {limit for limit, (_, above) in room.items() if above}
        self._note_walks(walks)
        self._looked_up_at = time.monotonic()
        self._are_empty = not self._hints and not self.after_line
        if not began_at:
            self._sweep_began = self._looked_up_at - took
        self._is_in_parts = bool(began_at or self.after_line)
        if not self.after_line:
            self._swept_from = self._sweep_began

    def _note_walks(self, walks: Mapping[int, Sequence[int]]) -> None:
        """Where the front of long lines ends, and where the walk behind it: jobs may stand in between."""
        before, self.walked_to, self._ends = self.walked_to, {}, {}
        for line, ranks in walks.items():
            end, last = min(ranks), max(ranks)
            if len(ranks) > FURTHER:
                self.walked_to[line] = last
            if len(ranks) > FURTHER or before.get(line, end) > end:
                self._ends[line] = end

    def walked(self, seconds: float) -> None:
        """To walk through lines from their front took so long."""
        self._fresh_for = min(max(FRESH_FOR, WORTH * seconds), STALE_AFTER)

    def forget(self) -> None:
        """Look again before the next claim."""
        self._looked_up_at = None

    def hear(self, places: Collection[Place] = ()) -> None:
        """Somebody has put jobs in line, at these places or wherever; who has plenty to do looks in time."""
        self._told.add(places)
        for place in places:
            self._restore(place)
        self.freed()

    def freed(self) -> None:
        """There may be more room than is known: who has passed a line over looks again."""
        self._is_unsure = self._is_unsure or bool(self._free)
        if self._passed_over:
            self.forget()

    def told(self, limit: int) -> Offer | None:
        """The place where hints say that jobs are, since this was last asked; None where somebody must look.

        What is offered is all that there is, as far as anybody has told.
        """
        places = self._told.take()
        if len(places) != 1 or not self._are_empty or self._fresh_for > FRESH_FOR:
            return None
        standing = self.known.get(places[0][0])
        if standing is None or standing.limits:
            return None
        self._passed_over = False
        return Offer(places[0], 0, standing, limit)

    def add(self, place: Place, line: Line | None = None) -> None:
        """Note that jobs were put in line there; whose line it is, where that is known."""
        if line is None or line in self._served:
            self._told.add([place])
        if place[0] in self._found:
            self._restore(place)
            self._hints.setdefault(place, 0)
        # A line that was known before and not found again was empty, or it is paused.
        elif line is None or line in self._served:
            self.forget()

    def in_turn(self, limit: int, returning: int) -> list[Offer]:
        """Where to claim, in the order to serve; places of equal rank take turns in going first.

        By age, a place stands as many ranks further in front as its first job has waited steps; where it then
        meets others, whoever is the more urgent goes first. Nobody goes before jobs of a long line that were
        not looked at, unless those have no room.
        `returning` is how many attempts end in the same statement: they may give their room to others.
        """
        turn = self._turn + 1
        self._passed_over = False
        self._news.clear()
        waited = self._waited if goes_by_age(turn) else {}
        by_rank: dict[tuple[int, int], list[Place]] = {}
        for line, rank in sorted(self._hints):
            by_rank.setdefault((rank - waited.get((line, rank), 0), rank), []).append((line, rank))
        offers: list[Offer] = []
        limited_room = 0
        horizon = min(
            (end for line, end in self._ends.items() if self._may_give(line, returning)), default=None
        )
        for (moved_up, _), equals in sorted(by_rank.items()):
            if horizon is not None and moved_up > horizon:
                break
            first = turn % len(equals)
            for place in equals[first:] + equals[:first]:
                standing = self.known[place[0]]
                limits = standing.limits
                if limits and limited_room > 2 * limit:
                    continue
                room = min((self._room(one, returning) for one in limits), default=limit)
                if room <= 0:
                    self._passed_over = True
                    continue
                limited_room += room if limits else 0
                offers.append(Offer(place, self._hints[place], standing, room))
        self._turn += bool(offers)
        return offers

    def has_room(self, limits: Iterable[int]) -> bool:
        """Whether jobs under these limits may begin though none ends."""
        return all(self._free.get(limit, 0) > 0 for limit in limits)

    def are_lowered(self, limits: Iterable[int]) -> bool:
        """Whether more run under some of these limits than there would be slots for."""
        return not self._lowered.isdisjoint(limits)

    def turned(self, ended: Iterable[tuple[int, int]], begun: Mapping[int, int]) -> bool:
        """So many jobs of these lines have ended or begun; whether that leaves more room under some limit."""
        taken: dict[int, int] = {}
        for line, count in (*((line, -count) for line, count in ended), *begun.items()):
            for limit in self.known[line].limits if line in self.known else ():
                taken[limit] = taken.get(limit, 0) + count
        for limit, count in taken.items():
            self._free[limit] = self._free.get(limit, 0) - count
            self._held[limit] = self._held.get(limit, 0) + count
        return any(count < 0 for count in taken.values())

    def claimed(self, offers: Sequence[Offer], limit: int, taken: Mapping[Place, Sequence[Row]]) -> None:
        """Move the hints behind what was claimed; after a short claim look again before the next one.

        Where limits alone have kept it short, there is nothing to see.
        """
        self._are_empty = False
        for place, rows in taken.items():
            last = rows[-1]
            if last["seq"] > self._hints.get(place, 0):
                self._hints[place] = last["seq"]
            if place in self._waited:
                self._waited[place] = (last["started_at"] - last["queued_at"]) // STEP
        gave = {place: len(rows) for place, rows in taken.items()}
        under = {offer.standing.limits for offer in offers}
        self._doubted -= gave.keys()
        for offer, is_certain in spent(offers, gave, limit, lambda limited: not self.has_room([limited])):
            if not self.has_room(offer.standing.limits):
                continue  # it is passed over
            if is_certain or offer.place in self._doubted:
                self._spend(offer)
                self.has_guessed = self.has_guessed or not is_certain
            else:
                self._doubted.add(offer.place)
        if sum(gave.values()) < limit and not self._passed_over:
            self._passed_over = bool(under) and not any(map(self.has_room, under))
            if not self._passed_over:
                self.forget()
                self._are_empty = not any(under)

    def _spend(self, offer: Offer) -> None:
        """Offer it no more, unless jobs were put there meanwhile."""
        if offer.place in self._hints and offer.place not in self._news:
            self._spent[offer.place] = self._hints.pop(offer.place)
            self._is_unsure = self._is_unsure or bool(offer.standing.limits)

    def _restore(self, place: Place) -> None:
        """Jobs were put in line there."""
        self._news.add(place)
        if (after := self._spent.pop(place, None)) is not None:
            self._hints[place] = after

    def _may_give(self, line: int, returning: int) -> bool:
        return all(self._room(limit, returning) > 0 for limit in self.known[line].limits)

    def _room(self, limit: int, returning: int) -> int:
        return self._free.get(limit, 0) + min(returning, max(0, self._held.get(limit, 0)))
