"""Jobs whose attempts were running when a zygote died, or a runner that they shared.

One of them may have killed it, and which one cannot be known. Such a job runs apart when it comes again, in a
zygote or a runner of its own: if that dies too, the cause is known, and no other attempt is harmed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

MOST_SUSPECTS = 1_000
"""How many are remembered. Another worker may have run them meanwhile, and this one never learns of it."""

MOST_OWN_ZYGOTES = 4
"""How many run apart at a time, as each imports the app anew; more run among the others."""


class Quarantine:
    """The suspected jobs, and how many of them run apart."""

    def __init__(self, most_apart: int | None = None) -> None:
        self._jobs: dict[UUID, None] = {}
        self._most_apart = most_apart
        self._apart = 0

    def includes(self, job: UUID) -> bool:
        """Whether a job is suspected."""
        return job in self._jobs

    @contextmanager
    def room(self, job: UUID) -> Iterator[bool]:
        """Whether a job is to run apart; it counts as running apart meanwhile."""
        most = MOST_OWN_ZYGOTES if self._most_apart is None else self._most_apart
        is_apart = job in self._jobs and self._apart < most
        self._apart += is_apart
        try:
            yield is_apart
        finally:
            self._apart -= is_apart

    def judge(self, job: UUID, *, has_died: bool) -> None:
        """Suspect a job, or clear it, by whether its zygote or its runner has died."""
        if not has_died:
            self._jobs.pop(job, None)
            return
        self._jobs[job] = None
        if len(self._jobs) > MOST_SUSPECTS:
            del self._jobs[next(iter(self._jobs))]
