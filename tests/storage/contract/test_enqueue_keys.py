"""Enqueueing with a key: the same request again, from anywhere, at any time, makes no second job."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.verbs import claim, copy_row, count, found, job_in, record_of, seconds, settle, succeeded


async def ask(store: Store, **requested: Any) -> Enqueued:
    """Ask for one job under the key k, unless told otherwise."""
    [answer] = await store.enqueue([NewJob(**{"definition": "mail", "key": "k", **requested})])
    return answer


async def test_the_same_request_again_answers_with_the_first_job(store: Store, backend: Backend) -> None:
    """S0.55, S0.58: the key is kept in the job's row, not in anybody's memory."""
    first = await ask(store)
    again = await ask(store)
    assert (first.fresh, again.fresh, again.matches) == (True, False, True)
    assert (again.id, again.state) == (first.id, State.QUEUED)

    assert await backend.sql("SELECT scope, key FROM tenure.job") == [("", "k")]


async def test_another_process_knows_the_key(store: Store, other: Store) -> None:
    """S0.57, S0.58: several servers, one truth."""
    first = await ask(store)
    assert (await ask(other)).id == first.id
    await other.close()


async def test_a_repeat_leaves_no_trace(store: Store, clock: Clock, backend: Backend) -> None:
    first = await ask(store)
    before = await record_of(store, first.id)
    await clock.advance(seconds(5))
    await ask(store, priority=9, hold=True)
    assert await record_of(store, first.id) == before
    assert await count(backend, "tenure.ready") == 1


async def test_fifty_requests_at_once_from_two_stores_make_one_job(
    store: Store, other: Store, backend: Backend
) -> None:
    """S0.56, S0.57: the database decides, once."""
    answers = await asyncio.gather(*(ask(place) for _ in range(25) for place in (store, other)))
    assert len({answer.id for answer in answers}) == 1
    assert [answer.fresh for answer in answers].count(True) == 1
    assert await count(backend, "tenure.job") == 1
    assert await count(backend, "tenure.job_state") == 1


async def test_calls_that_share_keys_in_opposite_order_neither_deadlock_nor_differ(
    store: Store, other: Store
) -> None:
    """S0.57: concurrent batches agree on every key."""
    for turn in range(10):
        requested = [NewJob(definition="mail", key=f"{turn}-{n}") for n in range(100)]
        forth, back = await asyncio.gather(store.enqueue(requested), other.enqueue(requested[::-1]))
        assert [answer.id for answer in forth] == [answer.id for answer in back[::-1]]
        assert all(one.fresh != two.fresh for one, two in zip(forth, back[::-1], strict=True))


async def test_one_key_twice_in_one_call_makes_one_job(store: Store, backend: Backend) -> None:
    requested = NewJob(definition="mail", key="k")
    unlike = NewJob(definition="mail", key="k", params=Document('{"to":"b"}'))
    first, second, third = await store.enqueue([requested, requested, unlike])
    assert (first.id, first.id) == (second.id, third.id)
    assert [(answer.fresh, answer.matches) for answer in (first, second, third)] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert await count(backend, "tenure.job") == 1


async def test_known_and_new_keys_mix_in_one_call(store: Store, backend: Backend) -> None:
    known = await ask(store, key="known")
    requested = [NewJob(definition="mail", key=key) for key in ("x", "known", "y", None)]
    answers = await store.enqueue(requested)
    assert [answer.fresh for answer in answers] == [True, False, True, True]
    assert answers[1].id == known.id
    assert [(await found(store, answer.id)).key for answer in answers] == ["x", "known", "y", None]
    assert await count(backend, "tenure.job") == 4


async def test_other_params_under_the_same_key_do_not_match_and_change_nothing(store: Store) -> None:
    first = await ask(store, params=Document('{"to":"a"}'))
    before = await record_of(store, first.id)
    again = await ask(store, params=Document('{"to":"b"}'))
    assert again == Enqueued(first.id, State.QUEUED, fresh=False, matches=False)
    assert await record_of(store, first.id) == before


@pytest.mark.parametrize("unlike", [{"definition": "fax"}, {"version": 2}])
async def test_another_definition_under_the_same_key_does_not_match(
    store: Store, unlike: dict[str, Any]
) -> None:
    """S0.56: within a scope a key names one job, whatever kind of job it is."""
    first = await ask(store)
    again = await ask(store, **unlike)
    assert (again.id, again.fresh, again.matches) == (first.id, False, False)


async def test_params_in_another_order_or_spacing_match(store: Store) -> None:
    first = await ask(store, params=Document('{"a":1,"b":{"c":[1,2],"d":"é"}}'))
    again = await ask(store, params=Document('{ "b": {"d":"\\u00e9", "c":[1, 2]}, "a": 1 }'))
    assert (again.id, again.fresh, again.matches) == (first.id, False, True)


async def test_lists_in_another_order_do_not_match(store: Store) -> None:
    await ask(store, params=Document('{"c":[1,2]}'))
    assert not (await ask(store, params=Document('{"c":[2,1]}'))).matches


@pytest.mark.parametrize(
    "beside", [{"priority": 7}, {"queue": "fast"}, {"delay": seconds(9)}, {"hold": True}]
)
async def test_a_key_binds_the_work_not_its_circumstances(store: Store, beside: dict[str, Any]) -> None:
    first = await ask(store)
    assert await ask(store, **beside) == Enqueued(first.id, State.QUEUED, fresh=False, matches=True)


@pytest.mark.parametrize("state", list(State))
async def test_a_key_answers_whatever_became_of_its_job(store: Store, backend: Backend, state: State) -> None:
    """S1.36, S3.16: in flight or finished, creation is not repeated; running it again is another matter."""
    job = await job_in(store, state, key="k")
    before = await record_of(store, job)
    again = await ask(store, definition=state.value)
    assert again == Enqueued(job, state, fresh=False, matches=True)
    assert await record_of(store, job) == before
    assert await count(backend, "tenure.job") == 1


async def test_a_finished_job_does_not_run_again_because_it_was_asked_for_again(store: Store) -> None:
    """S0.15: done is done."""
    first = await ask(store)
    await settle(store, [succeeded(owned) for owned in await claim(store)])
    assert (await ask(store)).state is State.SUCCEEDED
    assert await claim(store) == []
    assert len(await store.attempts(first.id)) == 1


async def test_other_namespaces_do_not_see_the_key(store: Store) -> None:
    ours, theirs = await ask(store, namespace="ours"), await ask(store, namespace="theirs")
    assert (ours.fresh, theirs.fresh) == (True, True)
    assert (await ask(store, namespace="ours")).id == ours.id
    assert (await ask(store, namespace="theirs")).id == theirs.id


async def test_a_scope_of_definition_and_version_makes_a_key_its_own(store: Store) -> None:
    """S1.43: one job for each key, definition and version."""
    kinds = [("", "mail", 1), ("mail@1", "mail", 1), ("mail@2", "mail", 2), ("fax@1", "fax", 1)]
    requested = [
        NewJob(definition=definition, version=version, scope=scope, key="k")
        for scope, definition, version in kinds
    ]
    made = await store.enqueue(requested)
    assert len({answer.id for answer in made}) == 4
    assert [answer.id for answer in await store.enqueue(requested)] == [answer.id for answer in made]


async def test_scope_and_key_do_not_run_together(store: Store) -> None:
    assert (await ask(store, scope="a", key="b:c")).fresh
    assert (await ask(store, scope="a:b", key="c")).fresh
    assert (await ask(store, scope="", key="a:b:c")).fresh


async def test_keys_are_told_apart_letter_by_letter(store: Store) -> None:
    keys = ["k", "K", "k ", " k", "ke", "\u00e9", "e\u0301", "0", "00", "'; --", "%", "k" * 255, "漢" * 255]
    answers = await store.enqueue([NewJob(definition="mail", key=key) for key in keys])
    assert all(answer.fresh for answer in answers)
    assert [(await found(store, answer.id)).key for answer in answers] == keys


async def test_without_a_key_every_request_is_a_job(store: Store) -> None:
    requested = NewJob(definition="mail", scope="mail@1")
    assert len({answer.id for _ in range(3) for answer in await store.enqueue([requested, requested])}) == 6


async def test_the_very_same_request_with_its_id_answers_with_its_job(store: Store) -> None:
    """S0.57: a caller that makes the id itself may repeat the call just so."""
    mine = uuid4()
    assert (await ask(store, id=mine)).fresh
    assert await ask(store, id=mine) == Enqueued(mine, State.QUEUED, fresh=False)


async def test_a_key_already_taken_outweighs_the_id_of_the_repeat(store: Store) -> None:
    first = await ask(store)
    other_id = uuid4()
    assert (await ask(store, id=other_id)).id == first.id
    assert await store.get(other_id) is None


@pytest.mark.parametrize(
    "unlike", [{"key": "another"}, {"key": None}, {"scope": "s"}, {"namespace": "theirs"}]
)
async def test_an_id_that_is_taken_under_another_key_is_not_what_was_asked_for(
    store: Store, backend: Backend, unlike: dict[str, Any]
) -> None:
    mine = (await ask(store)).id
    assert await ask(store, id=mine, **unlike) == Enqueued(mine, State.QUEUED, fresh=False, matches=False)
    assert await count(backend, "tenure.job") == 1


async def test_the_database_itself_refuses_a_second_job_under_a_key(store: Store, backend: Backend) -> None:
    """S0.56: unique by constraint, so nobody can go round it."""
    await ask(store)
    with pytest.raises(Refused):
        await copy_row(backend, "tenure.job", "key = 'k'", id=f"'{uuid4()}'")
    await copy_row(backend, "tenure.job", "key = 'k'", id=f"'{uuid4()}'", key="'another'")
    assert await count(backend, "tenure.job") == 2


async def test_one_key_in_two_namespaces_in_one_call_makes_two_jobs(store: Store) -> None:
    """S0.56: the key is one's own in each namespace, whoever asks together."""
    answers = await store.enqueue(
        [NewJob(definition="mail", namespace=namespace, key="k") for namespace in ("north", "south")]
    )
    assert [answer.fresh for answer in answers] == [True, True]
    assert len({answer.id for answer in answers}) == 2


async def test_a_key_and_an_id_of_two_jobs_answer_with_the_job_of_the_key(store: Store) -> None:
    """S0.56: the key names the request; an id is only a number."""
    [keyed] = await store.enqueue([NewJob(definition="mail", key="k")])
    [other] = await store.enqueue([NewJob(definition="mail")])
    [answer] = await store.enqueue([NewJob(definition="mail", id=other.id, key="k")])
    assert (answer.id, answer.fresh) == (keyed.id, False)


async def test_an_id_asked_for_twice_is_not_lost_with_the_first_that_asked(store: Store) -> None:
    """The first is answered by its key and leaves the id free; the second takes it."""
    [keyed] = await store.enqueue([NewJob(definition="mail", key="k")])
    wanted = uuid4()
    answers = await store.enqueue(
        [NewJob(definition="mail", id=wanted, key="k"), NewJob(definition="mail", id=wanted)]
    )
    assert [(answer.id, answer.fresh) for answer in answers] == [(keyed.id, False), (wanted, True)]


async def test_a_key_that_a_later_job_of_the_call_takes_is_no_answer_for_an_earlier_one(store: Store) -> None:
    """The first is answered by its id, which was taken before; the second takes the key, which was free."""
    [taken] = await store.enqueue([NewJob(definition="mail")])
    later = uuid4()
    answers = await store.enqueue(
        [NewJob(definition="mail", id=taken.id, key="k"), NewJob(definition="mail", id=later, key="k")]
    )
    assert [(answer.id, answer.fresh, answer.matches) for answer in answers] == [
        (taken.id, False, False),
        (later, True, True),
    ]


@pytest.mark.parametrize(("params", "matches"), [("{}", True), ('{"to":"ann"}', False)])
async def test_an_id_that_the_store_made_is_compared_by_params_too(
    store: Store, params: str, matches: bool
) -> None:
    """Nobody kept a hash for it: what stands on record is compared."""
    [made] = await store.enqueue([NewJob(definition="mail")])
    [again] = await store.enqueue([NewJob(definition="mail", id=made.id, params=Document(params))])
    assert (again.id, again.fresh, again.matches) == (made.id, False, matches)


async def test_a_key_is_known_in_its_namespace_and_scope(store: Store) -> None:
    """For as long as its job is on record, whatever became of it."""
    job = (await ask(store, scope="mail", namespace="theirs")).id
    requested = {
        ("theirs", "mail", "k"),
        ("default", "mail", "k"),
        ("theirs", "post", "k"),
        ("theirs", "mail", "j"),
    }
    assert await store.known_keys(requested) == {("theirs", "mail", "k")}
    await store.cancel([job])
    assert await store.known_keys(requested) == {("theirs", "mail", "k")}
    assert await store.known_keys([]) == set()
