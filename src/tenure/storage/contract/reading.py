"""The verbs of a store that only read; part of the storage contract."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from tenure.core.model.job import Event, Job
from tenure.core.model.outcome import Attempt
from tenure.core.model.trail import Logged, Usage
from tenure.core.reports.obstacles import Obstacles
from tenure.core.reports.reading import Brief, FeedEntry, Filter, Listed, Page, Position, Recent
from tenure.core.values.bounds import LARGEST_FEED, MOST_LOOKED_AT


class ReadingStore(Protocol):
    """The verbs that read and change nothing."""

    async def get(self, job: UUID) -> Job | None:
        """The job as last committed, or None."""

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The history of one job from its creation on, by n, from behind `after`; empty for an unknown job.

        Numbers only grow: a reader that goes on behind the last one misses nothing and sees nothing twice.
        """

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        """The attempts of one job by fence, from behind `after`, the current one included.

        Empty for an unknown job.
        """

    async def logs(
        self,
        job: UUID,
        *,
        fence: int | None = None,
        after: tuple[int, int] | None = None,
        limit: int = 1000,
    ) -> list[Logged]:
        """Log lines of one job's attempts, or of the one under `fence`, by (fence, n) from behind `after` on.

        At most 10,000 lines; empty for an unknown job.
        """

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        """The last log lines of one job's attempts, by (fence, n), however many came before.

        At most 10,000 lines; empty for an unknown job.
        """

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        """Jobs by id, which is the order of creation, from behind `after` on; at most 200 a page.

        Never counts and never skips rows: a page costs the same wherever it begins. A job that is created or
        moves between two pages may be seen or missed, but no other job is missed or seen twice. Jobs whose
        caller chose the id are listed where their id puts them; `created_after` and `created_before` find
        them only if the id's time is within a day of the truth.
        """

    async def briefs(self, jobs: Collection[UUID]) -> dict[UUID, Brief]:
        """What lists tell of these jobs, at most 200 of them; those that are gone are left out.

        Params of more than 4,096 characters and what is behind the first 1,000 of a message are not read.
        """

    async def children(self, parent: UUID, *, limit: int = 50) -> list[Listed]:
        """Jobs that a job has started, in the order of creation, at most 200.

        Which of them is left open where there are more than `limit`.
        """

    async def usages(self, jobs: Collection[UUID]) -> dict[UUID, Usage]:
        """What the last attempts of at most 200 jobs used, of those whose owners said it."""

    async def ending_in(
        self, ending: str, *, namespace: str | None = None, limit: int = 10, among: int = MOST_LOOKED_AT
    ) -> list[UUID]:
        """The ids that end in these characters, the newest first, of a namespace if one is given.

        Looked for only among so many of the newest jobs, by id: no index has the ends of ids.
        """

    async def obstacles(self, job: UUID) -> Obstacles | None:
        """All that may keep a job from running, at one moment; None if there is no such job.

        Costs the same however old the store is: it reads pauses that fit the job's line, its limits and at
        most ten jobs under each full one, at most a thousand places before it, and live workers.
        """

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[FeedEntry]:
        """Events of all jobs behind `after`, in an order that never changes; empty if there are none yet.

        A reader that goes on from the last position misses nothing and sees nothing twice, however late a
        transaction commits; the events of one job come by n. On PostgreSQL an open transaction that has
        written anything, in this database or another one of the server, holds the feed back until it ends.
        Raises PositionGone for a position that this database has not given, or that a restore has cut off.
        """

    async def end_of_feed(self) -> Position:
        """The position behind the last event of the feed."""

    async def recent(self, *, limit: int = LARGEST_FEED) -> Recent:
        """How jobs ended lately, by the last `limit` events: it costs the same however old the store is."""
