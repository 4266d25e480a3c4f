"""What jobs of a definition used lately: CPU time and memory, from the last attempts of its newest jobs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar

from msgspec import Struct

from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.reading import Filter, Listed
from tenure.surfaces.dashboard.pages.jobs.look import brief_params
from tenure.surfaces.http.app.context import AppContext

MEASURED = 100
"""Ended jobs that are measured, at most."""

LATEST = 5
T = TypeVar("T")


class Used(Struct, frozen=True):
    """What so many jobs used: the median of their CPU time, and the memory that sufficed for 95 % of them."""

    jobs: int
    cpu: timedelta
    memory: int


class LatestJob(Struct, frozen=True):
    """A job in a short list, with its params in brief."""

    job: Listed
    params: str


async def used(context: AppContext, definition: str, namespace: str | None) -> Used | None:
    """What its newest ended jobs used; None where no worker has said it."""
    states = frozenset({State.SUCCEEDED, *DEAD_LETTERS})
    which = Filter(states=states, definition=definition, namespace=namespace)
    page = await context.client.page(which, limit=MEASURED)
    found = list((await context.client.usages([job.id for job in page.jobs])).values())
    if not found:
        return None
    cpu, memory = sorted(one.cpu for one in found), sorted(one.peak_memory for one in found)
    return Used(len(found), _at(cpu, 0.5), _at(memory, 0.95))


async def latest(context: AppContext, definition: str, namespace: str | None) -> list[LatestJob]:
    """Its newest jobs."""
    page = await context.client.page(Filter(definition=definition, namespace=namespace), limit=LATEST)
    briefs = await context.client.briefs([job.id for job in page.jobs])
    return [
        LatestJob(job, brief_params(briefs[job.id].params, context) if job.id in briefs else "")
        for job in page.jobs
    ]


def _at(ordered: Sequence[T], share: float) -> T:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
