"""The verbs of a store about many jobs at once; part of the storage contract.

None of them counts history: they read running totals, or a bounded number of rows.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from tenure.core.model.states import State
from tenure.core.reports.failures import Count, DeadGroups, Trouble
from tenure.core.reports.flow import Flows
from tenure.core.reports.pace import DetailedPace, Lengths, PaceDetail, Paces
from tenure.core.reports.reading import Filter, RunningJob
from tenure.core.values.bounds import LARGEST_FEED


class OverviewStore(Protocol):
    """The verbs that show operators the whole."""

    async def counts(self, which: Filter) -> dict[State, Count]:
        """How many jobs are in each state, whatever states the filter names.

        Exact if it names no more than a definition, a version and a queue. Otherwise a count among the newest
        thousand candidates; `is_more` if there are others.
        """

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        """Dead letters grouped by cause, the group with the latest one first; at most 200.

        A group is counted up to a thousand. With more than ten thousand groups not all are read.
        """

    async def dead_letter_hours(self, fingerprints: Collection[str]) -> dict[str, dict[int, int]]:
        """How many dead letters of each cause ended in the last hours: by how many full hours ago, up to 23.

        Of every cause the newest thousand, of at most 200 causes; an hour without any is left out.
        """

    async def note_pace(
        self,
        *,
        waits: Lengths,
        runs: Lengths,
        detail: PaceDetail | None = None,
        hour: PaceDetail | None = None,
    ) -> bool:
        """Record how many jobs have ever ended; `waits` and `runs` are of those of the last minute.

        So is `detail`; `hour` is that of the hour before, for the first minute of an hour. Once a minute:
        returns whether this call was the first. Minutes of over 25 hours ago are removed, and those with an
        hour after eight days.
        """

    async def pace_details(self, since: timedelta, *, by_hour: bool) -> list[DetailedPace]:
        """The minutes with a detail, as far back as asked, the oldest first; or the hours with theirs."""

    async def paces(self, since: timedelta) -> Paces:
        """The recorded minutes, as far back as asked; jobs that were removed still count as ended."""

    async def unfinished(self, namespace: str, *, most: int) -> int:
        """How many jobs of a namespace have not ended, counted up to `most`; 0 for the default namespace.

        Only among its newest `most` and ten thousand jobs: older ones are not read.
        """

    async def flows(self, *, limit: int = LARGEST_FEED) -> Flows:
        """What passed through each queue in the last minute, by the last `limit` jobs and events."""

    async def longest_running(self, *, limit: int = 5) -> list[RunningJob]:
        """The jobs at work for longest, among those of the two thousand oldest leases."""

    async def trouble(self, lately: timedelta) -> Trouble:
        """What goes wrong: jobs that fail again and again, leases that ran out, and dead letters `lately`."""
