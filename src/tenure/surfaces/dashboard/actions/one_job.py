"""The buttons on the page of one job."""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID, uuid4

from tenure.core.errors import InvalidInput
from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.dashboard.pages.addresses import DEAD, job_address, with_words
from tenure.surfaces.dashboard.renderer import see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.create import moment

Verb = Callable[[UUID], Awaitable[JobStanding]]


async def cancel(context: AppContext, request: Request) -> Response:
    """Ask the job to stop."""
    verb = partial(context.client.cancel, actor=request.caller.actor)
    return await _done(request, verb, fine=frozenset({State.CANCELLED}))


async def release(context: AppContext, request: Request) -> Response:
    """Release the held job."""
    return await _done(request, context.client.accept)


async def give_up(context: AppContext, request: Request) -> Response:
    """Make the job a dead letter instead of trying again."""
    return await _done(request, context.client.give_up)


class RescheduleForm(Form, frozen=True, kw_only=True):
    """When the job is to run instead."""

    run_at: str | None = None


async def run_now(context: AppContext, request: Request) -> Response:
    """Let the job wait no longer."""
    await context.client.reschedule(request.job, actor=request.caller.actor)
    return see_other(job_address(request.job))


async def reschedule(context: AppContext, request: Request) -> Response:
    """Move the job to another time."""
    form: RescheduleForm = request.body
    if form.run_at is None:
        raise InvalidInput("run_at", "is missing", "give the time at which it is to run, in UTC")
    run_at = browser_time("run_at", form.run_at, moment)
    await context.client.reschedule(request.job, run_at=run_at, actor=request.caller.actor)
    return see_other(job_address(request.job))


async def put_back(context: AppContext, request: Request) -> Response:
    """Put the job back that is aside."""
    await context.client.aside_jobs.put_back(request.job)
    return see_other(job_address(request.job))


async def replay(context: AppContext, request: Request) -> Response:
    """Replay the job as a new one, and go there."""
    replayed = await context.client.replay(request.job)
    return see_other(job_address(replayed.replay or request.job))


async def try_one(context: AppContext, request: Request) -> Response:
    """Replay the dead letter under a key, by which it is left out when the others are replayed."""
    replayed = await context.client.replay(request.job, key=uuid4().hex)
    return see_other(with_words(DEAD, tried=str(replayed.replay or "")))


async def _done(request: Request, verb: Verb, fine: frozenset[State] = frozenset()) -> Response:
    """Change the job and go back to its page. A request that came too late is refused, and says so."""
    standing = await verb(request.job)
    if standing.state.is_final and standing.state not in fine and not standing.moved:
        detail = f"the job has ended already: it is {standing.state}"
        raise Refusal("job-terminal", detail, job_status=standing.state)
    return see_other(job_address(request.job))
