"""Which faults come together in a run, where nobody says: fixed by the seed, as everything is."""

from chaos.faults import FAULTS
from chaos.ground import Kind

MIXES: tuple[tuple[str, ...], ...] = (
    ("kill",),
    ("step",),
    ("pause", "stall"),
    ("restart",),
    ("freeze", "stop-children"),
    ("kill", "deploy"),
    ("restart-reaping", "lock"),
    ("terminate", "hold", "kill"),
    ("stall-wire", "kill"),
    ("reset", "cut-commit"),
    ("clock", "kill"),
    ("step", "pause", "deploy"),
    ("api", "leasing", "kill"),
    ("api", "broker", "kill"),
)
"""By seed; what cannot happen to a store is left out, and where nothing is left, workers are killed."""

EVERY_HOSTILE = 3
"""In every so many seeds jobs attack whoever runs them."""


def mix(seed: int, store: Kind) -> tuple[str, ...]:
    """The faults of a seed."""
    known = tuple(name for name in MIXES[seed % len(MIXES)] if store in FAULTS[name].stores)
    return known or ("kill",)


EVERY_FOREIGN = 4
"""In every so many seeds there is a worker in JavaScript, too, and where its server is to be killed."""


def foreigners(seed: int) -> int:
    """How many workers in JavaScript there are in a seed."""
    return int(seed % EVERY_FOREIGN == 0 or "leasing" in MIXES[seed % len(MIXES)])


def is_hostile(seed: int) -> bool:
    """Whether jobs of this seed attack."""
    return seed % EVERY_HOSTILE == 0
