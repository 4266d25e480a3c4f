"""A worker's slots by lane: which definitions share them, and how far ahead may be claimed for these.

A fresh process for every attempt costs the same whoever it is for, so these lanes share their slots. A child
that is kept, a task and a thread each cost something else: they have slots of their own.
"""

from collections.abc import Iterable

from msgspec import Struct

from tenure.core.lease import Line
from tenure.core.policy import OnLost
from tenure.core.spec import Spec
from tenure.engine.manner import MOST_SLOTS, Manner

_SHARED = {"command": "process", "spawn": "process"}

_MOMENTS = {"process": 0.05, "warm": 0.2, "async": 0.2, "thread": 0.2}
"""Seconds of measured work that may be claimed ahead."""

_MOST_AHEAD = 500


class Share(Struct, frozen=True):
    """Slots for some lines."""

    name: str
    lines: tuple[Line, ...]
    slots: int
    buffer: int | None = None
    """How many jobs may be held beyond those that run; None for as many as begin within `moment` seconds."""
    moment: float = 0.0

    @property
    def most_ahead(self) -> int:
        """How many jobs may be held, whatever is asked for or measured."""
        most = MOST_SLOTS - self.slots
        return min(_MOST_AHEAD, most) if self.buffer is None else min(self.buffer, most)


def share_of(lane: str) -> str:
    """The name of the share that a lane's attempts have their slots from."""
    return _SHARED.get(lane, lane)


def shares(specs: Iterable[Spec], manner: Manner) -> list[Share]:
    """The worker's slots, for those lanes that its definitions use."""
    of_line = {(spec.key, spec.version): spec for spec in specs}
    lines: dict[str, list[Line]] = {}
    burying: set[str] = set()
    for line in manner.lines:
        spec = of_line[line.definition, line.version]
        name = share_of(spec.lane)
        lines.setdefault(name, []).append(line)
        if spec.policy.on_lost is OnLost.BURY:
            # What is held when the worker is killed counts as begun: it would be buried for nothing.
            burying.add(name)
    slots = {
        "process": manner.slots,
        "warm": manner.warm_slots,
        "async": manner.async_slots,
        "thread": manner.thread_slots,
    }
    return [
        Share(name, tuple(served), slots[name], manner.buffer, 0.0 if name in burying else _MOMENTS[name])
        for name, served in lines.items()
    ]
