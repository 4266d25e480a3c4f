"""Cuts the output of attempts into batches that a store accepts in one call."""

from collections.abc import Iterable, Iterator

from tenure.core.model.trail import Trail
from tenure.core.values.bounds import LARGEST_TRAIL

MOST_PARTS = 2_000
"""How many lines and notes one batch may have: heartbeats may have to wait while a store writes them."""

_PIECE = 64
"""Lines and notes of a piece: small enough that it always fits one call."""


def log_batches(trails: Iterable[Trail]) -> Iterator[list[Trail]]:
    """The trails in order, in batches as large as allowed."""
    batch: list[Trail] = []
    parts = size = 0
    for piece in _pieces(trails):
        if batch and (parts + piece.parts > MOST_PARTS or size + piece.size > LARGEST_TRAIL):
            yield batch
            batch, parts, size = [], 0, 0
        batch.append(piece)
        parts += piece.parts
        size += piece.size
    if batch:
        yield batch


def _pieces(trails: Iterable[Trail]) -> Iterator[Trail]:
    for trail in trails:
        for start in range(0, max(len(trail.lines), len(trail.notes)), _PIECE):
            part = slice(start, start + _PIECE)
            yield Trail(trail.lease, trail.lines[part], trail.notes[part])
