"""The steps on the page of a job, what it waits for, and its effects in doubt."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from msgspec import Struct

from tenure.api.durable_shapes import StepItem, WaitItem, step_item, wait_item
from tenure.core.model.durable import ProgressSummary
from tenure.core.model.job import Job
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.http.app.context import AppContext, Request

PAGE = 50


class DoubtView(Struct, frozen=True):
    """An effect in doubt, and since when."""

    step: str
    since: datetime


class StepsView(Struct, frozen=True, kw_only=True):
    """Some steps of a job, and how many it has kept. `later` is the address of the steps behind them.

    `takes_signals` says that the form for signals makes sense.
    """

    items: Sequence[StepItem]
    in_all: int
    is_start: bool
    later: str | None
    wait: WaitItem | None
    doubts: Sequence[DoubtView]
    takes_signals: bool

    @property
    def drawn(self) -> Sequence[StepItem]:
        """The steps that the timeline may draw: all of them, or none."""
        return self.items if self.is_start and self.later is None else ()

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.in_all or self.wait or self.doubts)


async def steps_view(context: AppContext, request: Request, job: Job) -> StepsView:
    """The steps from the place that the address names, otherwise the first ones."""
    kept = await context.client.durable.kept(job)
    after: str | None = request.query.get("steps")
    found = await context.client.durable.steps(job.id, after=after, limit=PAGE + 1) if kept.steps else []
    later = None
    if len(found) > PAGE:
        words = urlencode({"steps": found[PAGE - 1].name})
        later = f"{job_address(job.id)}?{words}#steps-title"
    return StepsView(
        items=[step_item(step, job, context.redaction) for step in found[:PAGE]],
        in_all=kept.steps,
        is_start=after is None,
        later=later,
        wait=None if kept.wait is None else wait_item(kept.wait),
        doubts=_doubts(kept),
        takes_signals=not job.state.is_final,
    )


def _doubts(kept: ProgressSummary) -> list[DoubtView]:
    return [DoubtView(effect.step, effect.since) for effect in kept.in_doubt]
