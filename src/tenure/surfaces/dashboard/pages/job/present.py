"""What a running job is doing, in a sentence, and how far it is with an estimate."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.api.why_shapes import ObstacleItem, WhyItem
from tenure.core.model.job import Job
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.states import State
from tenure.core.reports.why import WhyCode
from tenure.surfaces.dashboard.formats import short, span

LEAST = 0.02
"""Below this part of the work no estimate is given: it would jump about."""


class Present(Struct, frozen=True):
    """A running job: where and for how long, what came before, and when it is stopped at the latest.

    `trouble` is an obstacle beside that, in a sentence. `left` is an estimate from the pace so far.
    """

    worker: str
    lasting: str
    before: str
    until: str
    trouble: str
    left: str


def present(job: Job, attempts: Sequence[Attempt], why: WhyItem, now: datetime) -> Present:
    """The present of a job that a worker has."""
    since = job.started_at or now
    ran = max(now - since, timedelta(0))
    stops = (
        ""
        if job.state is State.CANCELLING
        else f"stopped at {short(since + job.policy.timeout)} if it has not ended"
    )
    told: Sequence[WhyItem | ObstacleItem] = (why, *why.data.also)
    ownership = {WhyCode.RUNNING, WhyCode.CANCELLING}
    trouble = " ".join(one.sentence for one in told if one.code not in ownership)
    if job.state is State.CANCELLING or (job.lease_expires_at is not None and job.lease_expires_at <= now):
        trouble = " ".join(one.sentence for one in told)
    return Present(job.worker or "", span(ran), _before(job, attempts), stops, trouble, _left(job, ran))


def _before(job: Job, attempts: Sequence[Attempt]) -> str:
    """Which attempt it is, and how the one before it ended."""
    told = f"This is attempt {job.attempt} of {job.policy.max_attempts}"
    earlier = [one for one in attempts if one.fence < job.fence and one.ended_at is not None]
    if not earlier or job.attempt == 1:
        return f"{told}."
    last = earlier[-1]
    at = "" if last.ended_at is None else f" at {short(last.ended_at)}"
    match last.ending:
        case Ending.LOST:
            return f"{told}: attempt {last.number} lost its worker {last.worker}{at}."
        case Ending.RECOVERABLE | Ending.KILLED:
            error = "" if last.error is None else f" with {last.error.kind}"
            return f"{told}: attempt {last.number} failed{error}{at}."
        case _:
            return f"{told}."


def _left(job: Job, ran: timedelta) -> str:
    """How long the rest takes if it goes on at the same pace; nothing too early, or of a resumed attempt."""
    if job.progress is None or job.suspensions or not LEAST <= job.progress.fraction < 1:
        return ""
    return f"about {span(ran * (1 / job.progress.fraction - 1))} left"
