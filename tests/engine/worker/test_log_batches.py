"""However much attempts say, a store is given what it takes in one call, and nothing is left out."""

from datetime import UTC, datetime
from uuid import UUID

from tenure.core.model.lease import Lease
from tenure.core.model.trail import LogLine, Note, Trail
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_TRAIL, LONGEST_LINE
from tenure.engine.worker.log_batches import MOST_PARTS, log_batches
from tenure.storage.mapping.trails import trail_rows

NOW = datetime.now(UTC)


def trail(job: int, lines: int, notes: int, text: str = "x") -> Trail:
    return Trail(
        Lease(UUID(int=job), 1),
        tuple(LogLine(n, NOW, "info", text) for n in range(1, lines + 1)),
        tuple(Note(f"custom:{n}") for n in range(notes)),
    )


def test_little_is_one_portion() -> None:
    assert list(log_batches([trail(1, 3, 2), trail(2, 1, 0)])) == [[trail(1, 3, 2), trail(2, 1, 0)]]
    assert list(log_batches([])) == []


def test_much_is_cut_into_portions_that_a_store_takes() -> None:
    long = "x" * LONGEST_LINE
    given = [
        trail(1, LARGEST_BATCH, LARGEST_BATCH),
        trail(2, LARGEST_TRAIL // LONGEST_LINE + 1, 0, long),
        trail(3, 1, 5),
    ]
    cut = list(log_batches(given))
    assert len(cut) >= 3
    for portion in cut:
        assert sum(piece.parts for piece in portion) <= MOST_PARTS
        trail_rows(portion)  # raises where a portion is too much
    for whole in given:
        pieces = [piece for portion in cut for piece in portion if piece.lease == whole.lease]
        assert [line for piece in pieces for line in piece.lines] == list(whole.lines)
        assert [note for piece in pieces for note in piece.notes] == list(whole.notes)
