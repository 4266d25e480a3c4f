"""What this process knows of lines: which places hold jobs, how far each was claimed, the room under limits.

A place is a (line, rank) that held jobs at the last look-up; one where this process enqueues is added at
once, if the look-up found its line. A claim begins behind the last claimed number: claimed rows leave dead
index entries in front, which cannot be removed while an old snapshot is open, and every claim would walk
through them all. The look-up does walk through them: if that takes long, it is done less often, but at least
every five seconds.

The look-up also tells how long the first job of each place has waited, for the claims that go by age. Once
that job is claimed, the next one counts as old as the last one claimed there, until the next look-up.

A line whose limits have no room is passed over until some is believed to be free. A turn locks slots of
each limited line that it is offered, so it is offered only a few more than fill it, by how many jobs came
from as much room the last time. A place that gave fewer jobs than it could is spent: it is offered again
after jobs were put there or a look-up found some.

All of this only saves work. Jobs that were passed over (a transaction committed late, a claim was rolled
back) are found by the next look-up, which begins at the front. The claim itself finds out which slots are
free. After a hint, `told` finds out whether the line is paused; a turn that settles trusts the last look-up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tenure.core.model.lease import Line
from tenure.storage.mapping.aging import FURTHER, STEP, goes_by_age
from tenure.storage.mapping.values import Row
from tenure.storage.postgres.claims.freshness import Freshness
from tenure.storage.postgres.claims.hints import Hints, Place
from tenure.storage.postgres.claims.offers import Demand, Offer, OpenLine, jobs_a_place, spent, used_share
from tenure.storage.postgres.claims.place_order import Equals, PlaceOrder
from tenure.storage.postgres.claims.room import LimitRoom

FRONT = 10
"""At how many priorities of a line one look-up finds jobs; once those are claimed, the next looks further."""

MOST_REACHED = 10_000
"""How many lines with jobs one look-up passes through; the next goes on from there."""

MOST_REMEMBERED = 50_000
"""How many lines are remembered."""


SPARSE = 0.8
"""Up to which share of the room that is used fewer jobs are said to wait than there is room for."""


class LineScan:
    """What this process knows of the lines that one order names."""

    def __init__(self, served: Collection[Line]) -> None:
        self._served = frozenset(served)
        self._served_by_name = {(line.queue, line.definition, line.version): line for line in served}
        self.known: dict[int, OpenLine] = {}  # by id; also lines that are empty by now
        self.room = LimitRoom()
        self.freshness = Freshness()
        self.after_line = 0  # where the next look-up goes on
        self.walked_to: dict[int, int] = {}  # of lines with very many ranks, the last one looked up
        self.has_guessed = False
        """Whether, since the last look-up, places count as spent that may only have lacked room, or lack room
        that may be there by now."""
        self._front_ends: dict[int, int] = {}  # of lines with ranks that were not looked up, the last before
        self._found_lines: set[int] = set()  # by the last look-up
        self._claimed_to: dict[Place, int] = {}  # the places on offer, each with its last claimed number
        self._spent: dict[Place, int] = {}  # the same of spent places
        self._doubted: set[Place] = set()  # gave fewer jobs than they could, which is not certain
        self._refilled: set[Place] = set()  # jobs were put there since the last offers
        self._order = PlaceOrder()
        self._turn = 0
        self._has_passed_over = False  # a line without room, in the last offers
        self._has_more = False  # places that the last offers left out, since they were enough
        self._used: float | None = None  # the share of the room under limits that such offers use
        self._jobs_a_place = 1.0  # that places without limits gave, of those that the last such claim came to
        self._is_unsure = False  # of the room under limits
        self._is_empty = False  # as far as is known, no place holds jobs
        self._open: set[int] = set()  # lines that were not paused, by the last look-up or a claim since
        self._hints = Hints()

    @property
    def is_stale(self) -> bool:
        """Whether a look-up is due before the next claim."""
        return self.freshness.is_stale

    @property
    def is_doubtful(self) -> bool:
        """Whether there may be unknown jobs, or unknown room for them."""
        return self._is_unsure or self.freshness.is_in_parts or self.is_cut

    @property
    def is_sparse(self) -> bool:
        """Whether fewer jobs seem to wait than limits have room for."""
        return self._used is not None and self._used < SPARSE

    @property
    def is_cut(self) -> bool:
        """Whether some lines have more priorities than were looked up."""
        return bool(self._front_ends)

    def learn(self, found: Iterable[Iterable[Any]], took: float, front: int = FRONT) -> None:
        """Take the rows of a look-up that took so many seconds; claims begin at the first job that it found.

        `front` is how many priorities of a line it walked through before it looked at others for their age.
        Rows are read by position: there may be ten thousand.
        """
        self._forget_places()
        is_first, self.after_line = not self.after_line, 0
        walks: dict[int, list[int]] = {}
        waits: dict[Place, int] = {}
        limited: dict[Place, bool] = {}
        lines, known, claimed_to = self._served_by_name, self.known, self._claimed_to
        for line, queue, definition, version, rank, seq, limits, n, waited, room in found:
            if queue is None:
                self.after_line = line or 0
                self.room.learn(room)
                continue
            place = line, rank
            known[line] = OpenLine(lines[queue, definition, version], tuple(limits))
            claimed_to[place] = seq - 1
            limited[place] = bool(limits)
            if waited is not None and waited >= STEP:
                waits[place] = waited // STEP
            if n >= front:
                walks.setdefault(line, []).append(rank)
        self._found_lines.update(line for line, _ in self._claimed_to)
        self._order.learn(limited, waits, self._turn)
        self._note_walks(walks)
        self._open = set(self._found_lines)
        self._is_empty = not self._claimed_to and not self.after_line
        self.freshness.note_look_up(took, is_first=is_first, is_last=not self.after_line)

    def _forget_places(self) -> None:
        if len(self.known) > MOST_REMEMBERED:
            self.known.clear()
        self._found_lines.clear()
        self.room.clear()
        for places in (self._claimed_to, self._spent, self._doubted):
            places.clear()
        self._is_unsure = self.has_guessed = False

    def _note_walks(self, walks: Mapping[int, Sequence[int]]) -> None:
        """Note where the front of long lines ends, and the walk behind it; jobs may stand in between."""
        before, self.walked_to, self._front_ends = self.walked_to, {}, {}
        for line, ranks in walks.items():
            end, last = min(ranks), max(ranks)
            if len(ranks) > FURTHER:
                self.walked_to[line] = last
            if len(ranks) > FURTHER or before.get(line, end) > end:
                self._front_ends[line] = end

    def forget(self) -> None:
        """Make a look-up due before the next claim."""
        self.freshness.forget()

    def note_hint(self, places: Collection[Place] = ()) -> None:
        """Another process has put jobs in line, at these places or somewhere.

        No look-up is due for that: the process may know of plenty of jobs.
        """
        self._hints.add(places)
        for place in places:
            self._restore(place)
        self.note_room()

    def note_room(self) -> None:
        """There may be more room than is known; a look-up is due if a line was passed over."""
        self._is_unsure = self._is_unsure or self.room.is_known
        if self._has_passed_over:
            self.forget()

    def note_unknown_room(self) -> None:
        """Jobs of this process have ended in lines not known here: their limits may be those of known ones.

        A claim that is short looks again in the same call; one that is not, only if a line was passed over.
        """
        self.has_guessed = True
        self.note_room()

    def note_queued(self, place: Place, line: Line | None = None) -> None:
        """This process has put jobs in line at this place; `line` is which line that is, if known."""
        if line is None or line in self._served:
            self._hints.add([place])
        if place[0] in self._found_lines:
            self._restore(place)
            self._open_place(place, self._claimed_to.get(place, 0))
        # The last look-up did not find the line: it was empty or new, or it is paused.
        elif line is None or line in self._served:
            self.forget()

    def hinted_offer(self, limit: int) -> Offer | None:
        """The one place that the hints since the last call name; None if a look-up has to come first.

        As far as is known, no job can be claimed elsewhere.
        """
        places = self._hints.take()
        if len(places) != 1 or not self._is_empty or self.freshness.is_slow:
            return None
        line = self.known.get(places[0][0])
        if line is None or line.limits:
            return None
        self._has_passed_over = self._is_empty = False
        return Offer(places[0], 0, line, limit)

    def offers_while_settling(self, limit: int) -> Sequence[Offer] | None:
        """Where a turn with reports claims without a look-up: at the place that hints name, or nowhere.

        None if one has to come first: jobs may stand elsewhere, or the line may be paused since the last.
        """
        if not self._is_empty or self.is_doubtful or not self.freshness.has_swept_lately:
            return None
        if self._hints.is_silent:
            return []
        offer = self.hinted_offer(limit)
        return [offer] if offer is not None and offer.place[0] in self._open else None

    def offers(self, limit: int, returning: int) -> list[Offer]:
        """Where to claim, in the order of serving; places of equal rank take turns in going first.

        No place is offered before jobs of a long line that were not looked up, unless these have no room.
        `returning` is how many attempts end in the same statement: they may leave their slots to others.
        """
        self._has_passed_over = self._has_more = False
        self._refilled.clear()
        offers: list[Offer] = []
        wanted = Demand(limit, self._used, self._jobs_a_place)
        horizon = self._horizon(returning)
        for equals in self._order.by_rank(by_age=goes_by_age(self._turn + 1)):
            if horizon is not None and equals.rank > horizon:
                break
            if wanted.is_met:
                self._has_more = True
                break
            equals.rotate()
            self._offer_equals(equals, wanted, returning, offers)
        if offers:
            self._turn += 1
            self.freshness.note_offers()
        return offers

    def _offer_equals(self, equals: Equals, wanted: Demand, returning: int, offers: list[Offer]) -> None:
        """Offer places of one rank: of those with limits and of those without, as many as are wanted."""
        reached = unlimited = 0
        for place in equals:
            if wanted.is_met_under_limits or wanted.is_met:
                break
            reached += 1
            unlimited += not self.known[place[0]].limits
            self._offer(place, wanted, returning, offers)
        self._has_more = self._has_more or reached < len(equals)
        for place in equals.unlimited_behind(unlimited):
            if wanted.is_met:
                break
            self._offer(place, wanted, returning, offers)

    def _offer(self, place: Place, wanted: Demand, returning: int, offers: list[Offer]) -> None:
        """Add a place to the offers, if it has room."""
        after, line = self._claimed_to[place], self.known[place[0]]
        room = min((self.room.after(one, returning) for one in line.limits), default=wanted.jobs)
        if room <= 0:
            self._has_passed_over = True
            return
        offer = Offer(place, after, line, room)
        offers.append(offer)
        wanted.note(offer)

    def _horizon(self, returning: int) -> int | None:
        """The rank behind which jobs that were not looked up may be more urgent than any known place."""
        ends = (end for line, end in self._front_ends.items() if self._may_give(line, returning))
        return min(ends, default=None)

    def note_turn(self, ended: Iterable[tuple[int, int]], begun: Mapping[int, int]) -> bool:
        """So many jobs of these lines have ended or begun; whether some limit has more room now."""
        taken: dict[int, int] = {}
        for line, count in (*((line, -count) for line, count in ended), *begun.items()):
            for limit in self.known[line].limits if line in self.known else ():
                taken[limit] = taken.get(limit, 0) + count
        return self.room.change(taken)

    def note_claimed(self, offers: Sequence[Offer], limit: int, taken: Mapping[Place, Sequence[Row]]) -> None:
        """Move on behind the claimed jobs; after a short claim a look-up is due before the next one.

        If only limits kept the claim short, a look-up would find nothing new; nor is one due while places
        are known that were not offered.
        """
        self._is_empty = False
        for place, rows in taken.items():
            last = rows[-1]
            if last["seq"] > self._claimed_to.get(place, 0):
                self._open_place(place, last["seq"])
            self._order.note_waited(place, (last["started_at"] - last["queued_at"]) // STEP)
        gave = {place: len(rows) for place, rows in taken.items()}
        self._doubted -= gave.keys()
        self._open.update(line for line, _ in gave)
        self._give_up_spent(offers, gave, limit)
        self._used = used_share(offers, gave, limit) or self._used
        self._jobs_a_place = jobs_a_place(offers, gave, limit) or self._jobs_a_place
        under = {offer.limits for offer in offers}
        if sum(gave.values()) < limit and not (self._has_passed_over or self._has_more):
            self._has_passed_over = bool(under) and not any(map(self.room.is_free, under))
            if not self._has_passed_over:
                self.forget()
                self._is_empty = not any(under)

    def _give_up_spent(self, offers: Sequence[Offer], gave: Mapping[Place, int], limit: int) -> None:
        """Stop offering spent places; one that is not certainly spent, only after the second time."""
        for offer, is_certain in spent(offers, gave, limit, lambda limited: not self.room.is_free([limited])):
            if not self.room.is_free(offer.limits):
                continue  # `offers` passes it over
            if is_certain or offer.place in self._doubted:
                self._spend(offer)
                self.has_guessed = self.has_guessed or not is_certain
            else:
                self._doubted.add(offer.place)

    def _spend(self, offer: Offer) -> None:
        """Stop offering a place, unless jobs were put there meanwhile."""
        if offer.place in self._claimed_to and offer.place not in self._refilled:
            self._spent[offer.place] = self._claimed_to.pop(offer.place)
            self._order.drop(offer.place)
            self._is_unsure = self._is_unsure or bool(offer.limits)

    def _restore(self, place: Place) -> None:
        """Offer a place again: jobs were put in line there."""
        self._refilled.add(place)
        if (after := self._spent.pop(place, None)) is not None:
            self._open_place(place, after)

    def _open_place(self, place: Place, after: int) -> None:
        """Offer this place, behind the job of this number."""
        if place not in self._claimed_to:
            self._order.add(place, is_limited=bool(self.known[place[0]].limits))
        self._claimed_to[place] = after

    def _may_give(self, line: int, returning: int) -> bool:
        return all(self.room.after(limit, returning) > 0 for limit in self.known[line].limits)
