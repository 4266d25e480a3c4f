"""What a worker serves, and what it puts on record when it starts."""

import pytest

from tenure.core.documents import Document
from tenure.core.errors import InvalidInput
from tenure.core.lease import Line
from tenure.core.spec import Spec
from tenure.engine.hiring import new_name, served
from tenure.engine.registering import register
from tenure.storage.contract import Store

MAIL = Spec(key="mail", queue="letters", concurrency=5)
POST = Spec(key="post", version=2)


def test_each_definition_is_served_in_its_own_queue_unless_queues_are_named() -> None:
    assert served([MAIL, POST]) == (Line("default", "post", 2), Line("letters", "mail"))
    assert served([MAIL, POST], ["slow"]) == (Line("slow", "mail"), Line("slow", "post", 2))


def test_an_app_without_definitions_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"@app\.job"):
        served([])


def test_no_two_workers_have_one_name() -> None:
    """Not even those of one process: what was claimed under a name is that worker's for good."""
    assert new_name() != new_name()


async def test_definitions_are_on_record_with_what_they_said_before(store: Store) -> None:
    """S1.54: the last start wins, and whoever starts is told what it has changed."""
    assert await register(store, [MAIL, POST], "a") == []
    assert await register(store, [MAIL, Spec(key="post", version=2, priority=7)], "b") == ["post@2"]
    found = {known.key: Spec.read(known.spec) for known in await store.definitions()}
    assert found["mail"] == MAIL
    assert found["post"].priority == 7


async def test_a_limit_follows_the_code_only_where_that_has_changed(store: Store) -> None:
    """S1.68: what an operator has set outlives a restart, but not a deploy that says otherwise."""
    await register(store, [MAIL], "a")
    await store.enqueue([MAIL.new_job(Document("{}"))])
    await store.set_limit("mail", 3)
    await register(store, [MAIL], "b")
    assert [use.size for use in await store.limits()] == [3]
    await register(store, [Spec(key="mail", queue="letters", concurrency=2)], "c")
    assert [use.size for use in await store.limits()] == [2]
