"""What an operator has set for a definition counts for jobs that are enqueued from then on."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from tenure import InvalidInput, JobHandle, Tenure
from tenure.core.model.job import Job
from tenure.core.reports.operations import Definition
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tenure.surfaces.library.definition import JobDefinition

Mails = JobDefinition[None, None]
Enqueue = Callable[[Tenure, Mails], Awaitable[JobHandle[Any]]]
OVERRIDE = """{
    "priority": 7, "max_attempts": 9, "timeout_seconds": 60, "grace_seconds": 2.5,
    "retry": {"cap_seconds": 30}, "of a later version": 1
}"""


@pytest.fixture
def mail(app: Tenure) -> Mails:
    """A definition."""

    @app.job("mail", max_attempts=4, timeout=120)
    def send() -> None: ...

    return send


async def override(store: Store, mail: Mails, document: str) -> None:
    """Set what an operator wants."""
    spec = mail.spec.document()
    await store.put_definitions([Definition(key="mail", version=1, spec=spec, override=Document(document))])


async def by_its_function(_app: Tenure, mail: Mails) -> JobHandle[Any]:
    return await mail.enqueue()


async def by_its_key(app: Tenure, _mail: Mails) -> JobHandle[Any]:
    return await app.enqueue("mail")


async def among_many(app: Tenure, mail: Mails) -> JobHandle[Any]:
    [job] = await app.enqueue_many([mail.new_job()])
    return job


def terms(job: Job) -> tuple[Any, ...]:
    policy = job.policy
    return (
        job.priority,
        policy.max_attempts,
        policy.timeout,
        policy.grace,
        policy.retry.base,
        policy.retry.cap,
    )


@pytest.mark.parametrize("enqueue", [by_its_function, by_its_key, among_many])
async def test_what_an_operator_has_set_counts_however_a_job_is_enqueued(
    app: Tenure, mail: Mails, store: Store, enqueue: Enqueue
) -> None:
    """Parts that the override does not name are as in the code; unknown ones are ignored."""
    await override(store, mail, OVERRIDE)
    job = await (await enqueue(app, mail)).get()
    second = timedelta(seconds=1)
    assert terms(job) == (7, 9, 60 * second, 2.5 * second, 1 * second, 30 * second)


async def test_the_callers_own_word_stands(mail: Mails, store: Store) -> None:
    await override(store, mail, OVERRIDE)
    job = await (await mail.enqueue(max_attempts=2, priority=-1)).get()
    assert (job.policy.max_attempts, job.priority, job.policy.timeout) == (2, -1, timedelta(seconds=60))


async def test_a_restart_of_its_worker_does_not_undo_it(mail: Mails, store: Store) -> None:
    await override(store, mail, OVERRIDE)
    await store.put_definitions([Definition(key="mail", version=1, spec=mail.spec.document())])
    assert (await (await mail.enqueue()).get()).policy.max_attempts == 9


@pytest.mark.parametrize("document", ['{"max_attempts":"many"}', '{"max_attempts":1000}', "[]"])
async def test_an_override_that_cannot_be_is_told_and_hurts_no_other_definition(
    app: Tenure, mail: Mails, store: Store, document: str
) -> None:
    @app.job("post")
    def post() -> None: ...

    await override(store, mail, document)
    with pytest.raises(InvalidInput, match=r"override|max_attempts"):
        await mail.enqueue()
    await post.enqueue()
