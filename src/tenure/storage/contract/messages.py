"""Messages that name jobs, as far as the store knows of them; part of the storage contract."""

from datetime import timedelta
from typing import Protocol
from uuid import UUID


class MessageStore(Protocol):
    """The verbs about the queues of a broker through which such messages come; a queue has any name."""

    async def note_receiver(self, worker: str, queue: str, problem: str | None) -> None:
        """Note that messages of a queue lead this worker, and why it cannot receive them at present.

        It fails since the first note in a row that says so; one without a problem ends that. `workers` tells.
        """

    async def remind(self, queue: str, *, after: timedelta, every: timedelta, limit: int) -> list[UUID]:
        """Jobs that should have been claimed by now, so that their messages seem lost: send these once more.

        They have been queued for longer than `after`, at the head of lines that live workers serve which this
        queue leads. Jobs of paused lines and under limits are not among them, since no message leads to them.
        A job is named again only when it has been queued for twice as long as at the last time. The store is
        searched at most once within `every`, however many workers ask; `limit` bounds what is named.
        """
