"""What a worker serves, and what it puts on record when it starts."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Line
from tenure.core.model.spec import Spec
from tenure.core.values.documents import Document
from tenure.engine.client.registration import save_definitions
from tenure.engine.config import new_worker_name, served_lines
from tenure.storage.contract.store import Store

MAIL = Spec(key="mail", queue="letters", concurrency=5)
POST = Spec(key="post", version=2)


def test_each_definition_is_served_in_its_own_queue_unless_queues_are_named() -> None:
    assert served_lines([MAIL, POST]) == (Line("default", "post", 2), Line("letters", "mail"))
    assert served_lines([MAIL, POST], ["slow"]) == (Line("slow", "mail"), Line("slow", "post", 2))


def test_an_app_without_definitions_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"@app\.job"):
        served_lines([])


def test_no_two_workers_have_one_name() -> None:
    """Not even those of one process: what was claimed under a name is that worker's for good."""
    assert new_worker_name() != new_worker_name()


async def test_definitions_are_on_record_with_what_they_said_before(store: Store) -> None:
    """S1.54: the last start wins, and learns what it has changed."""
    assert await save_definitions(store, [MAIL, POST], "a") == []
    changed = await save_definitions(store, [MAIL, Spec(key="post", version=2, priority=7)], "b")
    assert changed == ["post@2 differs from what was registered before, in priority"]
    found = {known.key: Spec.read(known.spec) for known in await store.definitions()}
    assert found["mail"] == MAIL
    assert found["post"].priority == 7


async def test_a_limit_follows_the_code_only_where_that_has_changed(store: Store) -> None:
    """S1.68: what an operator has set outlives a restart, but not a deploy that says otherwise."""
    await save_definitions(store, [MAIL], "a")
    await store.enqueue([MAIL.new_job(Document("{}"))])
    await store.set_limit("mail", 3)
    await save_definitions(store, [MAIL], "b")
    assert [use.size for use in await store.limits()] == [3]
    await save_definitions(store, [Spec(key="mail", queue="letters", concurrency=2)], "c")
    assert [use.size for use in await store.limits()] == [2]


async def test_a_definition_with_other_params_is_told_what_differs_and_what_to_do(store: Store) -> None:
    """Under the same version: the jobs that wait were made with the old ones."""
    before = Document('{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}')
    number = Document('{"type":"object","properties":{"to":{"type":"integer"}},"required":["to"]}')
    wider = Document('{"type":"object","properties":{"to":{"type":"string"},"cc":{}},"required":["to"]}')
    await save_definitions(store, [Spec(key="mail", params_schema=before)], "a")
    [changed] = await save_definitions(store, [Spec(key="mail", params_schema=number, priority=1)], "b")
    assert changed == (
        "mail@1 differs from what was registered before, in priority and in its params: to was str and is "
        "int; jobs that wait under version 1 may not fit: raise version= to 2, and keep a function with "
        "version=1 until they are done, for no worker runs them otherwise"
    )
    await save_definitions(store, [Spec(key="mail", params_schema=before)], "c")
    [changed] = await save_definitions(store, [Spec(key="mail", params_schema=wider)], "d")
    assert changed.endswith(
        "in its params: cc is new and has a default; "
        "jobs that wait still fit; raise version= to 2 if the meaning has changed, too"
    )
