"""What both stores share of messages that name jobs."""

from tenure.core.values.bounds import printable
from tenure.core.values.text import storable

HEADS = 200
"""How many jobs at the head of each line are searched; the others come to its head."""

LONGEST_PROBLEM = 1000


def receiver_columns(worker: str, queue: str, problem: str | None) -> dict[str, str | None]:
    """The columns of a note. Raises InvalidInput for names that cannot be stored."""
    printable("worker", worker, least=1)
    return {
        "worker": worker,
        "queue": storable(queue),
        "problem": None if problem is None else storable(problem)[:LONGEST_PROBLEM],
    }
