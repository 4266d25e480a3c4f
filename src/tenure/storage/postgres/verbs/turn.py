"""The verb of the PostgreSQL store that settles and claims.

    settle_and_claim(reports, order)
     │  no reports; hints arrive, and since the last such call they named one place only, of a known line
     │  without limits; no other place is known to hold jobs; walking a line from its front is fast:
     ├─ told ──────────────────── claim there. Got jobs? Done; otherwise go on
     │  reports, and the same of hints, or none came; every line was looked up within the last second, and
     │  the one that hints name was not paused: claim there, or nowhere, without a look-up
     ├─ LineSearch.offers()       otherwise, where to claim:
     │    places                    look up which places hold jobs; only if a look-up is due, or while
     │                              no known place has room and the call has not seen every line
     │    LineScan.offers()         known places in the order of serving, each behind its last claim
     │  no reports, no offers? Done
     ├─ turn, in one form ─────── settle the reports, then claim from the offers; StatementChoice takes
     │    turn                      without reports and limits
     │    turn+settling             with reports, without limits
     │    turn+passing              jobs that end pass their slots on to jobs with the same limits
     │    turn+sparse               few jobs wait under limits with much room: locks no more slots than jobs
     │    turn+limits               anything else: frees slots and takes free ones
     ├─ LineScan.note_claimed()   places move on, or are spent; a claim that is short, though limits
     │                              leave room, makes a look-up due
     └─ fewer jobs than ordered?  done, if hints have said where to claim; otherwise LineSearch.more(): known
                                  places that are left, or a look-up; then a turn without reports; and
                                  again, while there are offers

    refused for its data? `bisection` tries halves (turn+limits for reports, turn+named for offers), puts
    the jobs to blame aside and raises JobsAside. If no job is refused alone, the reports are settled first,
    without a claim.

`told`, `places` and `turn` are the parts of `settle_and_claim.sql`; each is one round trip. Between calls the
process keeps a LineScan for each set of lines (places, room under limits, hints, age of the look-up) and, in
StatementChoice, the limits of recent claims.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import asyncpg
from msgspec.structs import replace

from tenure.core.errors import DataRefused, StoreError
from tenure.core.model.aside import Aside, JobsAside
from tenure.core.model.lease import Claimed, Order
from tenure.core.model.outcome import Report, Settled
from tenure.core.model.states import State
from tenure.core.model.turn import TurnResult
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.storage.mapping import turn_rows
from tenure.storage.mapping.turn_rows import ReportRow
from tenure.storage.postgres import rows
from tenure.storage.postgres.claims.line_scan import LineScan
from tenure.storage.postgres.claims.line_search import LineSearch
from tenure.storage.postgres.claims.offers import Offer, OpenLine
from tenure.storage.postgres.claims.statement_choice import HINTED
from tenure.storage.postgres.verbs import bisection
from tenure.storage.postgres.verbs.bisection import Bisection

TIMED = frozenset({State.RETRYING, State.SUSPENDED})
"""The states in which a settled job waits for a time."""


class Turn(Bisection):
    """Turns of workers."""

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> TurnResult:
        given = turn_rows.report_rows(reports)
        if not given and (claimed := await self._claim_hinted(order)):
            return TurnResult(Settled({}, []), claimed)
        scan = self._scans.of(order.lines)
        search = LineSearch(self._pool, order, scan)
        told = self._offers_without_look(given, order, scan)
        offers = await search.offers(len(given)) if told is None else told
        if not given and not offers:
            scan.forget()
            return TurnResult(Settled({}, []), [])
        try:
            first = await self._turn(given, order, scan, offers)
        except DataRefused:
            if not given or not order.limit:
                raise
            # No job is refused alone: one on offer may need a slot that the reported jobs have yet to free.
            first, told = await self._turn(given, replace(order, limit=0), scan, []), None
        if len(first.claimed) == order.limit or told is not None:
            return first
        return await self._claim_more(order, scan, search, first)

    def _offers_without_look(
        self, given: Sequence[ReportRow], order: Order, scan: LineScan
    ) -> Sequence[Offer] | None:
        """Where a turn that settles claims, if hints say enough of that; None if a look-up has to."""
        is_told = given and order.limit and self._wakeups.is_connected
        return scan.offers_while_settling(order.limit) if is_told else None

    async def _turn(
        self, given: Sequence[ReportRow], order: Order, scan: LineScan, offers: Sequence[Offer]
    ) -> TurnResult:
        try:
            answer = await self._pool.run(
                self._choose_statement(given, order, scan, offers),
                **rows.reports(given),
                **rows.offers(offers),
                worker=order.worker,
                lease_for=order.lease_for,
                limit=order.limit,
                most_suspensions=MOST_SUSPENSIONS,
            )
        except DataRefused as refused:
            await self._bisect(
                refused, bisection.settling(given, order.worker), bisection.claiming(offers, order)
            )
        groups, taken = rows.split_turn(answer)
        lines = {offer.place[0]: offer.open_line for offer in offers}
        begun = Counter(row["line"] for row in taken)
        self._note_turn(given, scan, groups, begun)
        scan.note_claimed(offers, order.limit, rows.group_by_place(taken))
        self._choice.note({row["fence"] for row in taken}, {lines[line].limits for line in begun})
        return TurnResult(
            turn_rows.settled_from(given, ((group["state"], group["places"]) for group in groups)),
            _claimed(taken, lines),
        )

    def _choose_statement(
        self, given: Sequence[ReportRow], order: Order, scan: LineScan, offers: Sequence[Offer]
    ) -> str:
        """Choose the form of the statement for this turn."""
        limits = {offer.limits for offer in offers}
        is_wide = order.limit > len(given) and any(map(scan.room.is_free, limits))
        passes = not is_wide and not any(map(scan.room.is_lowered, limits))
        ending = {report.lease.fence for report in given}
        return self._choice.choose(ending, limits, passes=passes, is_sparse=scan.is_sparse)

    def _note_turn(
        self,
        given: Sequence[ReportRow],
        scan: LineScan,
        groups: Sequence[asyncpg.Record],
        begun: Mapping[int, int],
    ) -> None:
        """Send hints about the attempts that ended: the room they leave, endings, times to wait for."""
        ended = [(group["line"], len(group["places"])) for group in groups]
        is_known = all(line in scan.known for line, _ in ended)
        leaves_room = scan.note_turn(ended, begun)
        if not is_known and self._choice.may_free(report.lease.fence for report in given):
            scan.note_unknown_room()
            leaves_room = True
        if leaves_room:
            self._wakeups.queued()
            self._scans.note_room(besides=scan)
        self._note_ended(groups)
        if any(group["state"] in TIMED for group in groups):
            self._wakeups.timed()

    async def _claim_more(
        self, order: Order, scan: LineScan, search: LineSearch, first: TurnResult
    ) -> TurnResult:
        """Claim more, from places that the first turn was not offered.

        Claimed jobs stay claimed, even if a later turn fails.
        """
        claimed, more, asides = list(first.claimed), first.claimed, list[Aside]()
        with suppress(StoreError):
            while lacking := order.limit - len(claimed):
                offers = await search.more(lacking, is_vain=not more)
                if not offers:
                    break
                try:
                    more = (await self._turn([], replace(order, limit=lacking), scan, offers)).claimed
                except JobsAside as refused:
                    more, asides = [], [*asides, *refused.asides]
                claimed += more
        return TurnResult(first.settled, claimed, asides)

    async def _claim_hinted(self, order: Order) -> list[Claimed]:
        """Claim at the place that hints name. Without jobs there, a look-up has to follow."""
        scan = self._scans.of(order.lines)
        offer = scan.hinted_offer(order.limit) if order.limit and self._wakeups.is_connected else None
        if offer is None:
            return []
        began = time.monotonic()
        try:
            answer = await self._pool.run(
                HINTED,
                **rows.hinted(offer),
                worker=order.worker,
                lease_for=order.lease_for,
                limit=order.limit,
            )
        except DataRefused as refused:
            await self._bisect(refused, bisection.claiming([offer], order))
        scan.freshness.note_walk(time.monotonic() - began)
        _, taken = rows.split_turn(answer)
        scan.forget()
        scan.note_claimed([offer], order.limit, rows.group_by_place(taken))
        self._choice.note({row["fence"] for row in taken}, {()})
        return _claimed(taken, {offer.place[0]: offer.open_line})


def _claimed(taken: Iterable[asyncpg.Record], lines: Mapping[int, OpenLine]) -> list[Claimed]:
    return [turn_rows.claimed_from(lines[row["line"]].line, *row[rows.CLAIM]) for row in taken]
