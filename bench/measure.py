"""How things are compared: rounds in interleaved pairs, and a watch on whether the machine was ours."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Generic, NamedTuple, TypeVar

from bench.figures import Figure, Measured, Pair, Probe, Round, Speed, figure_of
from bench.goals import ALL_GOALS

SPIN_TURNS = 2_000_000
SYNCS = 8
PAGE = bytes(8192)
SLOWER_SPIN = 1.4
SLOWER_SYNC = 4.0
T = TypeVar("T")
BUSY_AT_ONCE = 2
"""A loop keeps two cores busy, one with the client and one with the server; so does the probe."""


class Watch:
    """Tells whether others disturb the machine: a probe is compared with the best that the run has seen."""

    def __init__(self, folder: Path, *, repeats: int) -> None:
        """`repeats` is how many disturbed pairs may be measured again, for each row."""
        self.repeats = repeats
        self._file = folder / "probe"
        # Started afresh, not forked: a fork would copy the threads' locks in whatever state they are.
        self._spinners = ProcessPoolExecutor(BUSY_AT_ONCE, mp_context=get_context("spawn"))
        self._spun()
        self.calm = Probe(self._spun(), self._synced())
        for _ in range(5):
            self.probe()

    def close(self) -> None:
        """End the probe's processes."""
        self._spinners.shutdown()

    def probe(self) -> Probe:
        """Try the machine now."""
        probe = Probe(self._spun(), self._synced())
        self.calm = Probe(min(probe.spin, self.calm.spin), min(probe.sync, self.calm.sync))
        return probe

    def is_disturbed(self, probes: list[Probe]) -> bool:
        """Whether any of the probes is much slower than the calmest one."""
        return any(
            probe.spin > SLOWER_SPIN * self.calm.spin or probe.sync > SLOWER_SYNC * self.calm.sync
            for probe in probes
        )

    def _spun(self) -> float:
        return max(self._spinners.map(_spin, [SPIN_TURNS] * BUSY_AT_ONCE))

    def _synced(self) -> float:
        spent = []
        file = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
        for _ in range(SYNCS):
            began = time.perf_counter()
            os.pwrite(file, PAGE, 0)
            os.fsync(file)
            spent.append(time.perf_counter() - began)
        os.close(file)
        return median(spent)


class Contest(NamedTuple):
    """Two ways to do a thing, each a function that does one round of it."""

    left: Callable[[], Round]
    right: Callable[[], Round]
    left_name: str
    right_name: str


def compared(figure: str, contest: Contest, *, pairs: int, watch: Watch, deadline: float) -> Measured:
    """Measure both sides and their ratio, left / right.

    A ratio that misses its must by less than its spread is measured once more, and all pairs count.
    """
    done = _in_pairs(contest, pairs, watch, deadline)
    ratio = _ratio(figure, done)
    goal = ALL_GOALS.get(figure)
    if goal is not None and goal.is_missed_narrowly(ratio.value, ratio.high - ratio.low):
        done += _in_pairs(contest, pairs, watch, deadline)
        ratio = _ratio(figure, done)
    left, right = [each.left for each in done], [each.right for each in done]
    return Measured([ratio], [Speed(contest.left_name, left), Speed(contest.right_name, right)])


def alone(what: str, work: Callable[[], Round], *, rounds: int, of: str = "jobs") -> Measured:
    """Measure one thing that is compared with nothing."""
    return Measured([], [Speed(what, [work() for _ in range(rounds)], of)])


class Block(NamedTuple, Generic[T]):
    """What a piece of work has found, with probes before and after, and whether these tell of others."""

    found: T
    probes: list[Probe]
    disturbed: bool


def in_blocks(work: Callable[[], T], *, blocks: int, watch: Watch, deadline: float) -> list[Block[T]]:
    """Do a piece of work several times; one that was disturbed is done again, within bounds."""
    kept: list[Block[T]] = []
    repeats = 0
    while len(kept) < blocks and (not kept or time.monotonic() < deadline):
        before, found, after = watch.probe(), work(), watch.probe()
        block = Block(found, [before, after], watch.is_disturbed([before, after]))
        if block.disturbed and repeats < watch.repeats:
            repeats += 1
        else:
            kept.append(block)
    return kept


def _in_pairs(contest: Contest, pairs: int, watch: Watch, deadline: float) -> list[Pair]:
    """Left and right take turns in going first: A B, B A, A B … At least one pair, whatever the deadline."""
    kept: list[Pair] = []
    set_aside: list[Pair] = []
    while len(kept) < pairs and (not (kept or set_aside) or time.monotonic() < deadline):
        first, second = contest[:2] if len(kept) % 2 == 0 else contest[1::-1]
        before, one, between, two, after = watch.probe(), first(), watch.probe(), second(), watch.probe()
        left, right = (one, two) if first is contest.left else (two, one)
        probes = [before, between, after]
        pair = Pair(left, right, probes, watch.is_disturbed(probes))
        (set_aside if pair.disturbed and len(set_aside) < watch.repeats else kept).append(pair)
    # Where there was no time to measure it again, a disturbed pair is better than none.
    return kept + set_aside[: pairs - len(kept)]


def _ratio(name: str, pairs: list[Pair]) -> Figure:
    return figure_of(
        name,
        [pair.ratio for pair in pairs],
        [pair.probes for pair in pairs],
        sum(pair.disturbed for pair in pairs),
    )


def _spin(turns: int) -> float:
    began = time.perf_counter()
    for _ in range(turns):
        pass
    return time.perf_counter() - began
