"""The campaign that goes on until every fault has struck as often as it must have to be believed.

Each run is after one kind: workers killed at random, PostgreSQL stopped, workers paused, processes killed at
named steps. Who is behind is aimed at again; runs of the same commit that a file holds already count.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from chaos import failpoints
from chaos.campaign import Result, Setup
from chaos.ground import Kind
from chaos.recovery import percentile

FAULTS = {"kill": 300, "restart": 100, "pause": 100}
"""How often each must have struck."""

AT_EACH_STEP = 50
"""How often somebody must have been killed at each failpoint."""

MOST_IN_VAIN = 15
"""After so many tries at something that never hit it, in runs without a single hit, it is out of reach."""

TRIES_A_RUN = 4
"""How many tries a run counts for that is after a fault which no failpoint brings about."""

RESCUE, FIRST_CLAIM = 0.5, 1.0
"""Seconds beyond the lease, and after the database is back, within which work goes on; at p99."""


SHORTEST, LONGEST = 10.0, 60.0
"""Seconds for which the faults of one run strike."""


class _Shape(NamedTuple):
    """What a run after one kind of fault is like, and how many seconds one strike takes of it."""

    seconds_each: float
    calls_a_second: float
    workers: int
    rate: float


_SHAPES = {
    "kill": _Shape(seconds_each=0.5, calls_a_second=6, workers=5, rate=3.0),
    "restart": _Shape(seconds_each=2.5, calls_a_second=4, workers=3, rate=1.3),
    "pause": _Shape(seconds_each=1.2, calls_a_second=6, workers=6, rate=1.5),
    "step": _Shape(seconds_each=0.35, calls_a_second=10, workers=1, rate=2.5),
}


class Goal(Struct, frozen=True):
    """What is counted, and how often it must have been."""

    name: str
    times: int


def goals(part: float = 1.0) -> list[Goal]:
    """All of them, or that part of each."""
    wanted = {**FAULTS, **dict.fromkeys(failpoints.PLACES, AT_EACH_STEP)}
    return [Goal(name, max(1, round(times * part))) for name, times in wanted.items()]


def tally(results: Sequence[Result]) -> Counter[str]:
    """How often each goal's fault has struck."""
    return Counter(
        strike.what if strike.fault == "step" else strike.fault
        for result in results
        for strike in result.strikes
    )


def missing(wanted: Sequence[Goal], results: Sequence[Result]) -> dict[str, int]:
    """How many are wanting, by goal; those that are out of reach too."""
    reached = tally(results)
    return {goal.name: goal.times - reached[goal.name] for goal in wanted if goal.times > reached[goal.name]}


def setups(
    wanted: Sequence[Goal], results: Sequence[Result], stores: tuple[Kind, ...], *, seed: int, slack: float
) -> Iterator[Setup]:
    """The runs that it takes, each made from what the ones before have come to."""
    while True:
        short = {
            name: times
            for name, times in missing(wanted, results).items()
            if _in_vain(name, results) < MOST_IN_VAIN
            and (name != "restart" or "postgres" in stores)  # a file cannot be stopped
        }
        if not short:
            return
        yield _setup(short, seed, stores[seed % len(stores)], slack)
        seed += 1


def late(results: Sequence[Result]) -> list[str]:
    """Where work did not go on as soon as it should, in words; after each fault that strikes workers."""
    found = []
    for fault in ("kill", "pause", "step"):
        beyond = [
            gap.taken_back - result.setup.lease
            for result in results
            for gap in result.recoveries.get(fault, [])
            if gap.taken_back is not None
        ]
        if (worst := percentile(beyond, 0.99)) is not None and worst > RESCUE:
            found.append(f"{fault}: jobs were taken back {worst:.2f} s after the lease at p99, not {RESCUE}")
    claims = [gap.claimed for result in results for gap in result.recoveries.get("restart", [])]
    if (worst := percentile(claims, 0.99)) is not None and worst > FIRST_CLAIM:
        found.append(f"restart: the first claim came after {worst:.2f} s at p99, not {FIRST_CLAIM}")
    return found


def _setup(short: dict[str, int], seed: int, store: Kind, slack: float) -> Setup:
    """A run after the first kind that is wanting, no longer than it takes."""
    first = next(iter(short))
    aims = tuple(name for name in short if name in failpoints.PLACES) if first in failpoints.PLACES else ()
    fault = "step" if aims else first
    shape = _SHAPES[fault]
    left = sum(short[name] for name in aims or (first,))
    seconds = float(round(min(max(shape.seconds_each * left, SHORTEST), LONGEST)))
    return Setup(
        seed=seed,
        store="postgres" if fault == "restart" else store,
        faults=(fault,),
        seconds=seconds,
        calls=round(shape.calls_a_second * seconds),
        workers=shape.workers,
        rate=shape.rate,
        aims=aims,
        slack=slack,
        servers=0,  # what is counted happens to workers, and who serves takes time from them
    )


def _in_vain(name: str, results: Sequence[Result]) -> int:
    """How often something was tried in runs that never hit it; a fault strikes more than once in a run."""
    in_vain = [result for result in results if not tally([result])[name]]
    if name in failpoints.PLACES:
        # At least one: it must have an end even where nobody ever comes to try.
        return sum(max(1, result.tried.get(name, 0)) for result in in_vain if name in result.setup.aims)
    return sum(TRIES_A_RUN for result in in_vain if name in result.setup.faults)
