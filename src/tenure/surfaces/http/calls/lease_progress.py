"""The worker protocol's calls about progress: what a later attempt is to find, and what it finds."""

from msgspec import Raw, UnsetType

from tenure.api.lease_progress_shapes import (
    FoundSignal,
    StateBody,
    StateSaved,
    StepAnswer,
    StepBody,
    recalled,
    recalled_step,
)
from tenure.core.model.durable import Keeping, StepDraft, StepKind, StepStatus
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.calls.intent import document
from tenure.surfaces.http.calls.leases import held_lease, lost
from tenure.surfaces.http.calls.progress import given_document, name_in

_REFUSED = {
    Keeping.DIFFERS: (
        "step-differs",
        "another step is kept under this name, or this one with another result: what is kept stands",
    ),
    Keeping.FULL: ("progress-full", "the job has as many steps, or as many bytes of them, as it may"),
}


async def recall(context: AppContext, request: Request) -> Response:
    """What the job has kept so far: its steps, its state, and the signals that it was sent."""
    held = await held_lease(context, request)
    found = await context.client.lease_progress.recall(held.worker, held.lease)
    if found is None:
        raise lost()
    return Response(200, recalled(request.job, found))


async def recall_step(context: AppContext, request: Request) -> Response:
    """One step with its whole result."""
    held, name = await held_lease(context, request), name_in(request, "step")
    found = await context.client.lease_progress.recall_step(held.worker, held.lease, name)
    if found is None:
        raise Refusal("not-found", "the job has no such step, or the lease does not hold")
    return Response(200, recalled_step(found))


async def recall_signal(context: AppContext, request: Request) -> Response:
    """One signal with its whole payload."""
    held, name = await held_lease(context, request), name_in(request, "signal")
    found = await context.client.lease_progress.recall_signal(held.worker, held.lease, name)
    if found is None:
        raise Refusal("not-found", "the job has no such signal, or the lease does not hold")
    return Response(200, FoundSignal(name=found.name, payload=Raw(found.body)))


async def keep(context: AppContext, request: Request) -> Response:
    """Keep a step, so that no later attempt does it again; the same one sent again changes nothing."""
    body: StepBody = request.body
    held = await held_lease(context, request)
    kind, status = StepKind(body.kind), StepStatus(body.status)
    if status is not StepStatus.DONE and not isinstance(body.result, UnsetType):
        raise invalid("validation", "belongs to a step that is done; leave it out", pointer="/result")
    step = StepDraft(
        name=name_in(request, "step"),
        kind=kind,
        status=status,
        call=body.call,
        # A wait that is done without a result is one whose time ran out.
        body=None
        if status is not StepStatus.DONE or (kind is StepKind.WAIT and isinstance(body.result, UnsetType))
        else given_document(body.result, "/result"),
    )
    kept = await context.client.lease_progress.keep(held.worker, held.lease, step)
    if kept is Keeping.LOST:
        raise lost()
    if kept in _REFUSED:
        raise Refusal(*_REFUSED[kept])
    return Response(200, StepAnswer(job_id=request.job, name=step.name, status=status))


async def save(context: AppContext, request: Request) -> Response:
    """Save the state that a later attempt is to find; it replaces the one before."""
    body: StateBody = request.body
    held = await held_lease(context, request)
    state = document(body.state, "/state")
    if not await context.client.lease_progress.save(held.worker, held.lease, state):
        raise lost()
    return Response(200, StateSaved(job_id=request.job))
