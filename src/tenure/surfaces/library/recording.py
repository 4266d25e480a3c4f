"""Putting jobs in: in a transaction of their own, or in one that the caller has open.

What a caller's connection does, it does in the caller's thread and on the caller's loop. Were it done on
ours, a transaction that waits for another one of the same program could keep that from ever committing.
"""

from collections.abc import Sequence

from tenure.core.job import Enqueued, NewJob
from tenure.execution.tracing import current
from tenure.storage.draft import Connection
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.tracing import sending

FEW = 50
"""As many jobs as may be made ready on a caller's own loop, at some 20 microseconds each."""


async def record_one(runtimes: Runtimes, job: NewJob, connection: Connection | None = None) -> JobHandle:
    """Record one job; from a loop that calls often and follows no span, by the shortest way."""
    if connection is None and (client := runtimes.here().client_here()) and current() is None:
        [answer] = await client.enqueue([job])
        return JobHandle(answer.id, runtimes)
    [handle] = await record(runtimes, [job], connection)
    return handle


async def record(
    runtimes: Runtimes, jobs: Sequence[NewJob], connection: Connection | None = None
) -> list[JobHandle]:
    """Record jobs, all or none. Raises IdempotencyConflict for a key that was used for something else."""
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
    return _handles(answers, runtimes)


def record_sync(
    runtimes: Runtimes, jobs: Sequence[NewJob], connection: Connection | None = None
) -> list[JobHandle]:
    """The same for plain code; it blocks."""
    runtime = runtimes.here()
    if connection is None:
        return runtime.block_on(record(runtimes, jobs))
    with sending(jobs) as sent:
        draft = runtime.block_on(runtime.call(lambda client: client.draft(sent)))
        answers = draft.record(connection)
        if _are_in_doubt(answers):
            runtime.block_on(runtime.call(lambda client: client.check_keys(sent, answers)))
    return _handles(answers, runtimes)


def _are_in_doubt(answers: Sequence[Enqueued]) -> bool:
    return not all(answer.matches for answer in answers)


def _handles(answers: Sequence[Enqueued], runtimes: Runtimes) -> list[JobHandle]:
    return [JobHandle(answer.id, runtimes) for answer in answers]
