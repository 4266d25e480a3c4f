"""The control API's calls about the progress that jobs keep: steps, signals, and effects in doubt."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Raw, UnsetType

from tenure.api.durable_shapes import EffectBody, SignalBody, Steps, step_item
from tenure.core.errors import InvalidInput
from tenure.core.model.durable import EffectAnswer, Signal, kept_named, step_named
from tenure.core.model.signal_errors import JobEnded, NotInDoubt, SignalDiffers, TooManySignals
from tenure.core.values.documents import NULL, Document
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid, problem_and_remedy
from tenure.surfaces.http.calls.create import accepted
from tenure.surfaces.http.calls.intent import document

USUAL_PAGE = 50


async def steps(context: AppContext, request: Request) -> Response:
    """The steps that a job has kept, in the order in which they were first kept, a page at a time."""
    limit = request.query.get("limit", USUAL_PAGE)
    list_id = b"steps" + request.job.bytes
    after = None
    if "cursor" in request.query:
        after = cursors.read(request.query["cursor"], list_id).decode(errors="replace")
    job = await context.client.get(request.job)
    found = await context.client.durable.steps(job.id, after=after, limit=limit)
    more = len(found) == limit
    place = cursors.write(found[-1].name.encode(), list_id) if more else None
    items = [step_item(step, job, context.redaction) for step in found]
    return Response(200, Steps(items=items, next_cursor=place))


async def signal(context: AppContext, request: Request) -> Response:
    """Tell a job something under a name, before or while it waits for that.

    The first payload of a name stands. The same one sent again gets the same answer.
    """
    body: SignalBody = request.body or SignalBody()
    name = name_in(request, "signal")
    told = Signal(name=name, by=request.caller.actor, body=given_document(body.payload, "/payload"))
    async with refusals():
        done = await context.client.durable.signal(request.job, told)
    return accepted(request.job, done.state)


async def answer(context: AppContext, request: Request) -> Response:
    """Say whether an effect in doubt has happened, whatever the state of its job.

    An effect that happened is a step that is done, with the given result. One that did not is tried again, if
    the job runs again. The same answer given again gets the same answer.
    """
    body: EffectBody = request.body
    if not body.happened and not isinstance(body.result, UnsetType):
        raise invalid("validation", "belongs to an effect that happened; leave it out", pointer="/result")
    said = EffectAnswer(
        step=name_in(request, "effect"),
        happened=body.happened,
        by=request.caller.actor,
        result=given_document(body.result, "/result"),
    )
    async with refusals():
        done = await context.client.durable.answer(request.job, said)
    return accepted(request.job, done.state)


def name_in(request: Request, part: str) -> str:
    """The name of a step or a signal that the path has. Raises Refusal for what is none."""
    check = step_named if part == "signal" else kept_named
    try:
        check(part, request.path[part])
    except InvalidInput as error:
        raise invalid("validation", problem_and_remedy(error), parameter=part) from None
    return request.path[part]


def given_document(raw: Raw | UnsetType, pointer: str) -> Document:
    """A document inside a body; null if it was left out. Raises Refusal for one that cannot be kept."""
    return NULL if isinstance(raw, UnsetType) else document(raw, pointer)


@asynccontextmanager
async def refusals() -> AsyncIterator[None]:
    """Answer what the engine refuses as the problem that it is."""
    try:
        yield
    except JobEnded as error:
        detail = f"the job is {error.state} and cannot change any more"
        raise Refusal("job-terminal", detail, job_status=error.state) from None
    except SignalDiffers as error:
        detail = "another payload was sent under this name before, and that one stands"
        raise Refusal("signal-differs", detail, job_status=error.state) from None
    except TooManySignals as error:
        raise Refusal("progress-full", str(error), job_status=error.state) from None
    except NotInDoubt as error:
        detail = (
            "the job has no effect of this name that is in doubt; GET /v1/jobs/{jobId}/steps has its steps"
        )
        raise Refusal("not-in-doubt", detail, job_status=error.state) from None
