"""The error of a job: what was raised, how it ended, how many others died of the same, and its traceback."""

from collections.abc import Sequence

from msgspec import Struct

from tenure.api import views
from tenure.core.model.job import Job
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.core.values import fingerprint
from tenure.core.values.failure import Failure
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address
from tenure.surfaces.dashboard.pages.job.frames import ErrorTrace, TraceView, trace_of
from tenure.surfaces.http.app.context import AppContext, Request

LONGEST_TEXT = 16_384
"""Characters of a traceback that are shown as text, the last ones."""


class ErrorView(Struct, frozen=True):
    """An error and its traceback: in frames, or as text where there are none or that is wanted.

    `others` counts the other dead letters of the same cause, and `alike` is their list. `views` choose how
    the traceback is shown: pairs of an address and a word.
    """

    failure: Failure
    is_last: bool
    others: Count | None
    alike: str
    trace: ErrorTrace | None
    text: str
    views: Sequence[tuple[str, str]]
    chosen: str


async def error_view(context: AppContext, request: Request, job: Job) -> ErrorView | None:
    """The error of the last attempt; None if it ended without one, or the job goes on after it."""
    error = job.error
    if error is None or job.state is State.SUCCEEDED:
        return None
    others, alike = await _others(context, request, job)
    shown = views.failure(error, context.redaction)
    view: TraceView = request.query.get("trace", TraceView.OWN)
    trace = trace_of(shown, view)
    words = {
        TraceView.OWN: "Your code",
        TraceView.ALL: "" if trace is None else f"All {trace.count} frames",
        TraceView.TEXT: "As text",
    }
    address = job_address(job.id)
    return ErrorView(
        failure=shown,
        is_last=job.state.is_final,
        others=others,
        alike=alike,
        trace=None if view is TraceView.TEXT else trace,
        text=(shown.traceback or "")[-LONGEST_TEXT:],
        views=[
            (f"{address}{'' if known is TraceView.OWN else f'?trace={known}'}#error", word)
            for known, word in words.items()
        ]
        if trace is not None
        else [],
        chosen=words[view],
    )


async def _others(context: AppContext, request: Request, job: Job) -> tuple[Count | None, str]:
    """How many others died of the same, as far as the caller may see, and where they are listed."""
    if job.state not in DEAD_LETTERS or request.caller.definitions:
        return None, ""
    cause = fingerprint.of(job.definition, job.error)
    which = Filter(fingerprint=cause, states=DEAD_LETTERS, namespace=request.caller.namespace)
    counts = await context.client.counts(which)
    dead = [counts[state] for state in DEAD_LETTERS]
    number = sum(count.n for count in dead) - 1
    if number < 1:
        return None, ""
    states = [state for state in State if state in DEAD_LETTERS]
    address = list_address(q=f"fingerprint:{cause}", status=states)
    return Count(number, any(count.is_more for count in dead)), address
