"""Jobs that messages name go to the slot group that serves them, as far as that has room."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID, uuid4

from tenure.core.model.claim_by_id import TheseClaimed, Unclaimed, WhyUnclaimed
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.policy import Policy
from tenure.core.values.documents import EMPTY
from tenure.engine.worker.named_claims import NamedAnswer, NamedClaims

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Group:
    """A slot group that serves some jobs, of which some have finished."""

    def __init__(self, room: int, serves: Iterable[UUID], over: Iterable[UUID] = ()) -> None:
        self.pool = SimpleNamespace(room=room)
        self._serves = set(serves)
        self._over = set(over)
        self.asked: list[list[UUID]] = []

    async def claim_these(self, ids: Sequence[UUID]) -> TheseClaimed:
        self.asked.append(list(ids))
        left = {job: Unclaimed(WhyUnclaimed.UNSERVED) for job in ids if job not in self._serves}
        left |= {job: Unclaimed(WhyUnclaimed.FINISHED) for job in ids if job in self._over}
        return TheseClaimed([claimed(job) for job in ids if job not in left], left)


def claimed(job: UUID) -> Claimed:
    return Claimed(
        lease=Lease(job, 1),
        namespace="default",
        definition="mail",
        version=1,
        queue="default",
        params=EMPTY,
        policy=Policy(),
        attempt=1,
        traceparent=None,
        queued_at=NOW,
        started_at=NOW,
    )


async def claim(groups: Sequence[Group], ids: Sequence[UUID]) -> tuple[NamedAnswer, list[UUID]]:
    """The answer, and the jobs that were announced as claimed."""
    told: list[UUID] = []
    claims = NamedClaims(groups)  # type: ignore[arg-type]
    answer = await claims.claim(ids, lambda one: told.append(one.lease.job))
    assert [one.lease.job for one in answer.claimed] == told
    every = [*told, *answer.left, *answer.waiting]
    assert sorted(every) == sorted(ids)
    return answer, told


async def test_each_job_goes_to_the_group_that_serves_it() -> None:
    one, two, over, nobodys = (uuid4() for _ in range(4))
    groups = [Group(4, [one]), Group(4, [two, over], [over])]
    answer, told = await claim(groups, [one, two, over, nobodys])
    assert told == [one, two]
    assert {job: str(left.why) for job, left in answer.left.items()} == {
        over: "finished",
        nobodys: "unserved",
    }
    assert groups[1].asked == [[two, over, nobodys]]


async def test_a_job_whose_group_may_be_full_waits() -> None:
    """Nobody says whose it is: it is shown again, since the group that has no room may serve it."""
    one, two = uuid4(), uuid4()
    answer, told = await claim([Group(4, [one]), Group(0, [two])], [one, two])
    assert (told, list(answer.waiting)) == ([one], [two])


async def test_no_group_is_asked_for_more_than_it_has_room_for() -> None:
    jobs = [uuid4() for _ in range(5)]
    group = Group(3, jobs)
    answer, told = await claim([group], jobs)
    assert (told, sorted(answer.waiting)) == (jobs[:3], sorted(jobs[3:]))


async def test_a_worker_that_drains_has_no_room() -> None:
    assert NamedClaims([Group(0, []), Group(-2, [])]).room == 0  # type: ignore[list-item]
    assert NamedClaims([Group(3, []), Group(-2, [])]).room == 3  # type: ignore[list-item]
