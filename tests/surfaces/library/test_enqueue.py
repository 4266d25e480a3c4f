"""Jobs that the library enqueues, as the store has them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure import (
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    InvalidParams,
    JobHandle,
    Retry,
    State,
    Tenure,
    UnknownDefinition,
)
from tenure.core.model.job import Job
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import Definition
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.library.definition import JobDefinition
from tests.storage.backends import Backend
from tests.storage.verbs import claim, count, found


@dataclass
class Mail:
    to: str
    count: int = 1


Mails = JobDefinition[Mail, None]


@pytest.fixture
def mail(app: Tenure) -> Mails:
    """A definition."""

    @app.job("mail", max_attempts=4, concurrency=2, concurrency_key="to")
    def send(params: Mail) -> None: ...

    return send


async def test_an_enqueued_job_is_kept_and_another_process_may_take_it(mail: Mails, store: Store) -> None:
    """S0.1, S0.4, S3.3: the call records the job and returns; the database has it."""
    job = await mail.enqueue(Mail("ada"))
    kept = await found(store, job.id)
    assert (kept.state, kept.definition, kept.version) == (State.QUEUED, "mail", 1)
    assert kept.params == '{"to":"ada","count":1}'
    assert kept.policy == mail.spec.policy
    assert kept.limits == (Limit("mail", "ada", 2),)
    assert [owned.lease.job for owned in await claim(store, lines=[Line("default", "mail")])] == [job.id]


async def test_a_caller_may_name_what_a_job_counts_for(mail: Mails, store: Store) -> None:
    """S1.82: in place of what the params say."""
    job, *_ = await mail.enqueue_many([Mail("ada"), Mail("bob")], concurrency_keys=["eve"])
    assert (await found(store, job.id)).limits == (Limit("mail", "eve", 2),)
    with pytest.raises(InvalidInput, match="concurrency_keys"):
        await mail.enqueue(Mail("ada"), concurrency_keys="eve")


async def test_params_may_be_given_as_a_dict(mail: Mails, store: Store) -> None:
    """For code that type checkers do not see; they refuse it."""
    job = await mail.enqueue({"to": "ada"})  # type: ignore[arg-type]
    assert (await found(store, job.id)).params == '{"to":"ada"}'


async def test_what_a_caller_says_of_a_job_counts(mail: Mails, store: Store) -> None:
    """S1.8: a job may have a priority of its own."""
    job = await mail.enqueue(
        Mail("ada"), priority=5, queue="fast", max_attempts=9, timeout=7, tags=["vip"], delay=30
    )
    kept = await found(store, job.id)
    assert (kept.state, kept.priority, kept.queue, kept.tags) == (State.SCHEDULED, 5, "fast", ("vip",))
    assert (kept.policy.max_attempts, kept.policy.timeout) == (9, timedelta(seconds=7))
    assert kept.run_at == kept.created_at + timedelta(seconds=30)


async def test_a_job_may_wait_for_a_time(mail: Mails, store: Store) -> None:
    moment = datetime(2031, 1, 1, tzinfo=UTC)
    kept = await found(store, (await mail.enqueue(Mail("ada"), run_at=moment)).id)
    assert (kept.state, kept.run_at) == (State.SCHEDULED, moment)


async def test_a_held_job_waits_to_be_accepted(mail: Mails) -> None:
    job = await mail.enqueue(Mail("ada"), hold=True)
    assert await job.status() is State.CREATED
    assert await job.accept() is State.QUEUED


@pytest.mark.parametrize(
    ("params", "pointers"),
    [
        ({}, ["/to"]),
        ({"to": 1, "count": "x"}, ["/count", "/to"]),
        ({"to": "ada", "subject": "x"}, ["/subject"]),
        ({"to": "ada", "count": 1.5}, ["/count"]),
        ([], [""]),
        ("ada", [""]),
    ],
)
async def test_params_that_do_not_fit_are_refused_and_nothing_is_written(
    mail: Mails, backend: Backend, params: Any, pointers: list[str]
) -> None:
    """S1.77: validated, with pointers to what is wrong."""
    with pytest.raises(InvalidParams) as caught:
        await mail.enqueue(params)
    assert sorted(problem.pointer for problem in caught.value.problems) == pointers
    assert await count(backend, "tenure.job") == 0


@pytest.mark.parametrize("params", [{"to": "a\x00b"}, {"to": float("nan")}, {"to": {1}}, {"to": object()}])
async def test_params_that_are_no_json_are_refused(mail: Mails, params: Any) -> None:
    with pytest.raises(InvalidJson) as caught:
        await mail.enqueue(params)
    assert caught.value.pointer == "/to"


@pytest.mark.parametrize(
    "options",
    [
        {"priority": 32_768},
        {"delay": -1},
        {"delay": "soon"},
        {"delay": 1, "run_at": datetime(2031, 1, 1, tzinfo=UTC)},
        {"run_at": datetime(2031, 1, 1)},  # noqa: DTZ001
        {"idempotency_key": ""},
        {"max_attempts": 0},
        {"tags": "vip"},
        {"queue": "a b"},
    ],
)
async def test_options_that_make_no_sense_are_refused(mail: Mails, options: Any) -> None:
    with pytest.raises(InvalidInput):
        await mail.enqueue(Mail("ada"), **options)


async def test_a_misspelt_option_is_refused(mail: Mails) -> None:
    with pytest.raises(TypeError, match="'prioritty'; did you mean priority="):
        await mail.enqueue(Mail("ada"), prioritty=1)  # type: ignore[call-arg]


async def test_the_same_key_is_the_same_job(app: Tenure, mail: Mails, backend: Backend) -> None:
    """S0.3, S1.36: a repeated request starts no second job."""
    first = await mail.enqueue(Mail("ada"), idempotency_key="signup-17")
    assert await app.enqueue("mail", {"count": 1, "to": "ada"}, idempotency_key="signup-17") == first
    await first.cancel()
    assert await mail.enqueue(Mail("ada"), idempotency_key="signup-17") == first
    assert await count(backend, "tenure.job") == 1


async def test_the_same_key_with_other_params_is_an_error_that_names_the_job(mail: Mails) -> None:
    first = await mail.enqueue(Mail("ada"), idempotency_key="signup-17")
    with pytest.raises(IdempotencyConflict, match="idempotency_key: 'signup-17'") as caught:
        await mail.enqueue(Mail("bob"), idempotency_key="signup-17")
    assert caught.value.job == first.id


async def test_a_key_of_another_definition_is_another_key(app: Tenure, mail: Mails) -> None:
    @app.job("post")
    def post(params: Mail) -> None: ...

    assert await mail.enqueue(Mail("ada"), idempotency_key="k") != await post.enqueue(
        Mail("ada"), idempotency_key="k"
    )


async def test_a_repeat_after_a_deploy_finds_its_job(app: Tenure, mail: Mails, backend: Backend) -> None:
    """S0.3: a caller that names no version must not start the work again after a deploy."""
    first = await mail.enqueue(Mail("ada"), idempotency_key="k")
    async with Tenure(backend.address, settings=Settings()) as deployed:

        @deployed.job("mail", version=2)
        def send(params: Mail) -> None: ...

        assert await send.enqueue(Mail("ada"), idempotency_key="k") == first
        assert await deployed.enqueue("mail", Mail("ada"), idempotency_key="k") == first
        with pytest.raises(IdempotencyConflict):
            await send.enqueue(Mail("bob"), idempotency_key="k")
        named = await deployed.enqueue("mail", Mail("ada"), version=2, idempotency_key="k")
        assert named != first


async def test_many_jobs_are_recorded_at_once(mail: Mails, backend: Backend) -> None:
    jobs = await mail.enqueue_many([Mail(f"user{n}") for n in range(100)], priority=3)
    assert len({job.id for job in jobs}) == 100
    assert (await jobs[7].get()).params == {"to": "user7", "count": 1}
    assert await count(backend, "tenure.job") == 100


async def test_of_many_jobs_all_are_recorded_or_none(mail: Mails, backend: Backend) -> None:
    with pytest.raises(InvalidParams):
        await mail.enqueue_many([Mail("ada"), {"to": 7}])  # type: ignore[list-item]
    assert await count(backend, "tenure.job") == 0


async def test_jobs_of_several_definitions_are_recorded_together(app: Tenure, mail: Mails) -> None:
    @app.job("post")
    def post() -> None: ...

    jobs = await app.enqueue_many([mail.new_job(Mail("ada"), idempotency_key="k"), post.new_job(delay=60)])
    assert [(await job.get()).definition for job in jobs] == ["mail", "post"]


async def test_a_definition_is_known_by_its_key(app: Tenure, mail: Mails) -> None:
    job = await (await app.enqueue("mail", {"to": "ada"}, priority=2)).get()
    assert (job.definition, job.version, job.priority) == ("mail", 1, 2)
    with pytest.raises(InvalidParams):
        await app.enqueue("mail", {})


async def test_what_a_worker_has_registered_is_known_without_its_code(
    app: Tenure, mail: Mails, store: Store, backend: Backend
) -> None:
    """S1.40: one program enqueues what another one runs, by the definition that is on record."""
    spec = mail.spec
    async with Tenure(backend.address, settings=Settings()) as other:
        with pytest.raises(UnknownDefinition, match="mail is not known"):
            await other.enqueue("mail", {"to": "ada"})
        await store.put_definitions([Definition(key="mail", version=1, spec=spec.document())])
        job = await (await other.enqueue("mail", {"to": "ada"})).get()
        assert (job.policy, job.limits) == (spec.policy, (Limit("mail", "ada", 2),))
        with pytest.raises(InvalidParams):
            await other.enqueue("mail", {"to": 1})
        with pytest.raises(UnknownDefinition, match="mail@2"):
            await other.enqueue("mail", {"to": "ada"}, version=2)


@pytest.mark.parametrize("key", ["system.cancel", "../x", "", 7])
async def test_keys_that_nobody_may_use_are_refused(app: Tenure, key: Any) -> None:
    with pytest.raises(InvalidInput):
        await app.enqueue(key, {})


async def test_namespaces_are_apart(backend: Backend, mail: Mails) -> None:
    first = await mail.enqueue(Mail("ada"), idempotency_key="k")
    async with Tenure(backend.address, namespace="acme", settings=Settings()) as theirs:

        @theirs.job("mail")
        def send(params: Mail) -> None: ...

        job = await send.enqueue(Mail("ada"), idempotency_key="k")
        assert job != first
        assert (await job.get()).namespace == "acme"


async def test_the_database_shows_what_a_definition_says(app: Tenure, store: Store, backend: Backend) -> None:
    """S1.37: the columns of the view are those of the definition as the library writes it."""

    @app.job("mail", version=2, timeout=90, max_attempts=7, concurrency=3)
    def send() -> None: ...

    await store.put_definitions([Definition(key="mail", version=2, spec=send.spec.document())])
    rows = await backend.sql(
        "SELECT default_max_attempts, timeout_seconds, concurrency_limit FROM tenure.job_definitions"
    )
    assert [tuple(map(int, row)) for row in rows] == [(7, 90, 3)]


async def test_a_handle_is_made_from_an_id(app: Tenure, mail: Mails) -> None:
    job = await mail.enqueue(Mail("ada"))
    again = app.handle(str(job.id))
    assert isinstance(again, JobHandle)
    assert again == job == app.handle(job.id)
    assert isinstance(await again.get(), Job)
    with pytest.raises(InvalidInput, match="id of a job"):
        app.handle("17")


def test_directives_are_at_hand() -> None:
    assert Retry(after=5).after == timedelta(seconds=5)
