"""What attempts have said, cut into portions that a store takes in one call."""

from collections.abc import Iterable, Iterator

from tenure.core.bounds import LARGEST_TRAIL
from tenure.core.trail import Trail

MOST_PARTS = 2_000
"""How many lines and notes of them: while a store writes them, heartbeats may have to wait."""

_PIECE = 64
"""So few lines and notes that they fit into one call, however long they are."""


def portions(trails: Iterable[Trail]) -> Iterator[list[Trail]]:
    """The trails in their order, each portion as large as may be."""
    portion: list[Trail] = []
    parts = size = 0
    for piece in _pieces(trails):
        if portion and (parts + piece.parts > MOST_PARTS or size + piece.size > LARGEST_TRAIL):
            yield portion
            portion, parts, size = [], 0, 0
        portion.append(piece)
        parts += piece.parts
        size += piece.size
    if portion:
        yield portion


def _pieces(trails: Iterable[Trail]) -> Iterator[Trail]:
    for trail in trails:
        for start in range(0, max(len(trail.lines), len(trail.notes)), _PIECE):
            part = slice(start, start + _PIECE)
            yield Trail(trail.lease, trail.lines[part], trail.notes[part])
