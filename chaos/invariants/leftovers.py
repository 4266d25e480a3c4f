"""What must not stay behind, and what must not grow."""

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean, linear_regression

from chaos.casebook import Casebook, Finding

_FEWEST = 20
_GROWTH = 0.1
"""A rise by less than this part over the whole run is nothing to speak of."""
_BOUNDED = {"descriptors of ": 36.0, "memory of ": 24e6}
"""What may come up in any case, by the begin of a name: connections, opened when they are first needed, with
three for each of up to eight processes at work; and cycles that wait for the collector, which comes once in
50,000 objects."""
_SURE = 3.0
"""How many standard errors a rise must be away from none."""


def i28_no_leftovers(book: Casebook) -> Iterator[Finding]:
    """I28: when all is over, no process of any job is left, no folder and no descriptor."""
    left = book.evidence.leftovers
    for kind, things in (
        ("process", left.processes),
        ("folder", left.folders),
        ("descriptor", left.descriptors),
    ):
        for thing in things:
            yield None, f"a {kind} is left: {thing}"


def i45_bounded_resources(book: Casebook) -> Iterator[Finding]:
    """I45: what was measured all along does not grow."""
    for name, samples in book.evidence.resources.items():
        settled = samples[len(samples) // 5 :]  # it may take a while to warm up
        if len(settled) < _FEWEST:
            continue
        usual = abs(fmean(value for _, value in settled)) or 1.0
        allowed = max([_GROWTH * usual, *(most for kind, most in _BOUNDED.items() if name.startswith(kind))])
        if (growth := _growth(settled)) > allowed:
            span = f"from {settled[0][1]:g} to {settled[-1][1]:g}"
            yield None, f"{name} grew by {growth / usual:.0%} over the run, {span}"


def i48_nobody_aside(book: Casebook) -> Iterator[Finding]:
    """I48: no job is aside, but for those that the run itself has spoilt."""
    for job in book.evidence.jobs:
        if job.aside_at is not None and job.id not in book.terms.spoilt:
            yield job.id, f"it is {job.state} and aside since {job.aside_at}: the database refuses to move it"


INVARIANTS = (
    i28_no_leftovers,
    i45_bounded_resources,
    i48_nobody_aside,
)


def _growth(samples: Sequence[tuple[float, float]]) -> float:
    """By how much a measure has surely grown, by a straight line; not above 0 when that might be chance."""
    times, values = [at for at, _ in samples], [value for _, value in samples]
    slope, intercept = linear_regression(times, values)
    off = sum((value - intercept - slope * at) ** 2 for at, value in samples) / (len(samples) - 2)
    spread = sum((at - fmean(times)) ** 2 for at in times)
    sure = slope - _SURE * sqrt(off / spread)
    return sure * (times[-1] - times[0])
