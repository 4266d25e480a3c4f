"""What is done to one job by the buttons of its page."""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

from tenure.core.job import Standing
from tenure.core.states import State
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.dashboard.rendering import see_other
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal

Verb = Callable[[UUID], Awaitable[Standing]]


async def cancel(desk: Desk, asked: Asked) -> Answer:
    """Ask the job to stop."""
    verb = partial(desk.client.cancel, actor=asked.caller.actor)
    return await _done(asked, verb, fine=frozenset({State.CANCELLED}))


async def release(desk: Desk, asked: Asked) -> Answer:
    """Let the held job go."""
    return await _done(asked, desk.client.accept)


async def give_up(desk: Desk, asked: Asked) -> Answer:
    """Let the job be a dead letter instead of trying again."""
    return await _done(asked, desk.client.give_up)


async def put_back(desk: Desk, asked: Asked) -> Answer:
    """Let the job go on that was put aside."""
    await desk.client.mending.put_back(asked.job)
    return see_other(job_address(asked.job))


async def replay(desk: Desk, asked: Asked) -> Answer:
    """Run the job again, as a new one, and go there."""
    replayed = await desk.client.replay(asked.job)
    return see_other(job_address(replayed.replay or asked.job))


async def _done(asked: Asked, verb: Verb, fine: frozenset[State] = frozenset()) -> Answer:
    """Back to the job. Somebody who comes too late is told so: what they wanted is not what happened."""
    standing = await verb(asked.job)
    if standing.state.is_final and standing.state not in fine and not standing.moved:
        raise Refusal("job-terminal", f"the job is {standing.state}", job_status=standing.state)
    return see_other(job_address(asked.job))
