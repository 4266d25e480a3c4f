"""Records jobs: in a transaction of their own, or in one that the caller has open.

A caller's connection is used in the caller's thread and on the caller's loop. If it were used on ours, a
transaction that waits for another one of the same program could keep that one from ever committing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.values.traceparent import current
from tenure.storage.contract.draft import Connection
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.trace_context import sending

Returning = Callable[..., Any] | None
"""The function that returns the results of the jobs; without it, that of each job's own definition."""

FEW = 50
"""Up to this many jobs are prepared on the caller's own loop, at some 20 microseconds each."""


async def record_one(
    runtimes: Runtimes, job: NewJob, connection: Connection | None = None, *, returned_by: Returning = None
) -> JobHandle[Any]:
    """Record one job, by the shortest way if the loop calls often and has no current span."""
    if connection is None and (client := runtimes.here().client_here()) and current() is None:
        [answer] = await client.enqueue([job])
        return JobHandle(answer.id, runtimes, returned_by)
    [handle] = await record(runtimes, [job], connection, returned_by=returned_by)
    return handle


async def record(
    runtimes: Runtimes,
    jobs: Sequence[NewJob],
    connection: Connection | None = None,
    *,
    returned_by: Returning = None,
) -> list[JobHandle[Any]]:
    """Record jobs, all or none. Raises IdempotencyConflict if a key was used for something else."""
    runtime, aside = runtimes.here(), len(jobs) > FEW
    with sending(jobs) as sent:
        if connection is not None:
            draft = await runtime.call(lambda client: client.draft(sent), aside=aside)
            answers = await draft.record_async(connection)
            if _are_in_doubt(answers):
                await runtime.call(lambda client: client.check_keys(sent, answers))
        elif not aside and (client := runtime.client_here()):
            answers = await client.enqueue(sent)
        else:
            answers = await runtime.call(lambda client: client.enqueue(sent), aside=aside)
    return [JobHandle(answer.id, runtimes, returned_by) for answer in answers]


def record_sync(
    runtimes: Runtimes,
    jobs: Sequence[NewJob],
    connection: Connection | None = None,
    *,
    returned_by: Returning = None,
) -> list[JobHandle[Any]]:
    """The same for plain code; it blocks."""
    runtime = runtimes.here()
    if connection is None:
        return runtime.block_on(record(runtimes, jobs, returned_by=returned_by))
    with sending(jobs) as sent:
        draft = runtime.block_on(runtime.call(lambda client: client.draft(sent)))
        answers = draft.record(connection)
        if _are_in_doubt(answers):
            runtime.block_on(runtime.call(lambda client: client.check_keys(sent, answers)))
    return [JobHandle(answer.id, runtimes, returned_by) for answer in answers]


def _are_in_doubt(answers: Sequence[Enqueued]) -> bool:
    return not all(answer.matches for answer in answers)
