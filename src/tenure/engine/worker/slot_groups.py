"""A worker's slots by lane: which definitions share them, and how far ahead it may claim for these."""

from collections.abc import Iterable

from msgspec import Struct

from tenure.core.model.lanes import LANES
from tenure.core.model.lease import Line
from tenure.core.model.policy import OnLost
from tenure.core.model.spec import Spec
from tenure.engine.config import MOST_SLOTS, WorkerConfig

_MOST_AHEAD = 1_000


class SlotGroup(Struct, frozen=True):
    """Slots for some lines."""

    name: str
    lines: tuple[Line, ...]
    slots: int
    buffer: int | None = None
    """How many jobs may be held beyond those that run; None for as many as begin within `moment` seconds."""
    moment: float = 0.0

    @property
    def most_ahead(self) -> int:
        """The most jobs that may be held, whatever is configured or measured."""
        most = MOST_SLOTS - self.slots
        return min(_MOST_AHEAD, most) if self.buffer is None else min(self.buffer, most)


def slot_groups(specs: Iterable[Spec], config: WorkerConfig) -> list[SlotGroup]:
    """The worker's slots, for those lanes that its definitions use."""
    of_line = {(spec.key, spec.version): spec for spec in specs}
    lines: dict[str, list[Line]] = {}
    burying: set[str] = set()
    for line in config.lines:
        spec = of_line[line.definition, line.version]
        name = LANES[spec.lane].slot_group
        lines.setdefault(name, []).append(line)
        if spec.policy.on_lost is OnLost.BURY:
            # A job held when the worker is killed counts as begun, and would be buried without having run.
            burying.add(name)
    return [
        SlotGroup(
            name,
            lines=tuple(served),
            slots=getattr(config, LANES[name].slots),
            buffer=config.buffer,
            moment=0.0 if name in burying else LANES[name].moment,
        )
        for name, served in lines.items()
    ]
