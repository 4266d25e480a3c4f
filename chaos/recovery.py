"""How long it took until things went on after a fault, from the evidence of a run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import zip_longest

from msgspec import Struct

from chaos.evidence import Clocks, Evidence
from chaos.faults.fault import IN_A_WRITE, Strike
from tenure.core.model.outcome import Attempt, Ending


class Timeline:
    """Turns the store's time into CLOCK_MONOTONIC, by the sharpest reading of both."""

    def __init__(self, clocks: Sequence[Clocks]) -> None:
        best = min(clocks, key=lambda reading: reading.after - reading.before)
        self._offset = (best.before + best.after) / 2 - best.store.timestamp()

    def monotonic(self, at: datetime) -> float:
        """The same moment by the other clock."""
        return at.timestamp() + self._offset

    def since(self, moment: float, at: datetime | None) -> float | None:
        """How long after a moment that was."""
        return None if at is None else self.monotonic(at) - moment


class Recovery(Struct, frozen=True):
    """Seconds after a fault: until a job was taken from its lost owner, and until somebody claimed again.

    After the database was away there is only the second, counted from its return until a claim of anything.
    """

    taken_back: float | None
    claimed: float | None


def recoveries(evidence: Evidence, strikes: Iterable[Strike]) -> dict[str, list[Recovery]]:
    """How things went on, by fault."""
    timeline = Timeline(evidence.clocks)
    by_worker: dict[str, list[tuple[Attempt, Attempt | None]]] = {}
    for lost, following in _lost(evidence.attempts):
        by_worker.setdefault(lost.worker, []).append((lost, following))
    found: dict[str, list[Recovery]] = {}
    strikes = list(strikes)
    stalls = [strike for strike in strikes if strike.what == IN_A_WRITE]
    lease = evidence.terms.lease.total_seconds()
    for strike in strikes:
        told = found.setdefault(strike.fault, [])
        if strike.worker is not None and not _stalled(strike, stalls, lease):
            told += _rescues(by_worker.get(strike.worker, []), timeline, strike.began)
        elif strike.fault.startswith("restart"):
            told += _returns(evidence.attempts, timeline, strike.ended)
    return found


def _stalled(strike: Strike, stalls: Iterable[Strike], lease: float) -> bool:
    """Whether nobody could write when jobs were to be taken back: then it says nothing how long that took."""
    begin, end = strike.began, strike.began + 2 * lease
    return any(stall.began <= end and stall.ended >= begin for stall in stalls)


def percentile(values: Iterable[float | None], part: float) -> float | None:
    """The value below which that part of them lies; None where there are none."""
    known = sorted(value for value in values if value is not None)
    return known[min(len(known) - 1, int(part * len(known)))] if known else None


def _lost(attempts: Sequence[Attempt]) -> Iterable[tuple[Attempt, Attempt | None]]:
    """Attempts that were taken from their owners, each with the next one of its job."""
    for attempt, following in zip_longest(attempts, attempts[1:]):
        if attempt.ending is Ending.LOST:
            is_next = following is not None and following.job == attempt.job
            yield attempt, following if is_next else None


def _rescues(
    lost: Iterable[tuple[Attempt, Attempt | None]], timeline: Timeline, struck_at: float
) -> list[Recovery]:
    return [
        Recovery(
            timeline.since(struck_at, attempt.ended_at),
            timeline.since(struck_at, following.started_at if following else None),
        )
        for attempt, following in lost
        if timeline.monotonic(attempt.started_at) <= struck_at
        and timeline.monotonic(attempt.ended_at or attempt.started_at) > struck_at
    ]


def _returns(attempts: Iterable[Attempt], timeline: Timeline, back_at: float) -> list[Recovery]:
    claims = (timeline.monotonic(attempt.started_at) for attempt in attempts)
    after = [claim - back_at for claim in claims if claim > back_at]
    return [Recovery(None, min(after))] if after else []
