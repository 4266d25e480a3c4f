"""Mends what an examination found in the store's own rows: one job, or one key of a limit, at a time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import DataRefused
from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.engine.health.stuck_jobs import KINDS, SLOT_HELD, named_limit, portions
from tenure.storage.contract.store import Store
from tenure.storage.mapping.findings import Finding, LooseSlots

_DONE = {
    "no_place": "it is in line again",
    "no_timer": "it has a timer again",
    "no_lease": "it was taken from its lost owner, and is {state} now",
}
_REFUSED = "the database refuses that: {why}; `tenure jobs cancel {job}`, then `tenure jobs replay {job}`"


class Mended(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was done about one finding.

    What is `left` was well when it was looked at again, or gone. What is `refused` is for a person.
    """

    kind: str
    outcome: Literal["mended", "left", "refused"]
    what: str
    job: UUID | None = None


class Repair(NamedTuple):
    """Something to mend: its name for the audit log, and how to mend it."""

    target: str
    carry_out: Callable[[], Awaitable[Mended]]


async def repairs(store: Store, *, deep: bool) -> AsyncIterator[Repair]:
    """All there is to mend among the newest jobs, or with `deep` among all.

    Jobs come first: a place under a limit may be that of a job without a lease. Carry out each at once, since
    what comes next is looked for afterwards.
    """
    async for portion in portions(store, deep=deep):
        for finding in portion.findings:
            yield _of_job(store, finding)
    for loose in await store.loose_slots(limit=LARGEST_BATCH):
        yield _of_slots(store, loose)


def _of_job(store: Store, finding: Finding) -> Repair:
    verbs = {"no_place": store.mend_place, "no_timer": store.mend_timer, "no_lease": store.mend_lease}
    kind, job = KINDS[finding.kind], finding.job

    async def carry_out() -> Mended:
        try:
            standing = await verbs[finding.kind](job)
        except DataRefused as refused:
            problem = _REFUSED.format(why=" ".join(str(refused).split()), job=job)
            return Mended(kind=kind, job=job, outcome="refused", what=f"job {job}: {problem}")
        if standing is not None and standing.moved:
            done = _DONE[finding.kind].format(state=standing.state)
            return Mended(kind=kind, job=job, outcome="mended", what=f"job {job}: {done}")
        return Mended(kind=kind, job=job, outcome="left", what=f"job {job}: {_left(standing)}")

    return Repair(f"{kind} {job}", carry_out)


def _left(standing: JobStanding | None) -> str:
    if standing is None:
        return "left alone, since it is gone"
    is_moved = "" if standing.state is State.QUEUED else f" and is {standing.state}"
    return f"left alone, since it has healed by itself{is_moved}"


def _of_slots(store: Store, loose: LooseSlots) -> Repair:
    limit = named_limit(loose.name, loose.key)

    async def carry_out() -> Mended:
        freed, unleased = await store.mend_slots(loose.name, loose.key)
        if unleased:
            jobs = "1 job" if unleased == 1 else f"{unleased:,} jobs"
            what = f"{limit}: nothing freed, since no lease names {jobs} under it; --deep looks for such jobs"
            return Mended(kind=SLOT_HELD, outcome="refused", what=what)
        if not freed:
            what = f"{limit}: left alone, since its places are free or held by jobs now"
            return Mended(kind=SLOT_HELD, outcome="left", what=what)
        places = "1 place is" if freed == 1 else f"{freed:,} places are"
        return Mended(kind=SLOT_HELD, outcome="mended", what=f"{limit}: {places} free again")

    return Repair(f"{SLOT_HELD} {limit}", carry_out)
