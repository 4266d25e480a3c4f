"""The keys of what an attempt enqueues: the same in every attempt, and never two the same in one."""

from uuid import UUID, uuid4

from tenure.core.model.child_keys import CHILDREN, given_key, marked
from tenure.core.model.job import NewJob
from tenure.core.values.documents import Document
from tenure.engine.worker.spawn_keys import SpawnKeys

PARENT = UUID(int=7)


def new_job(params: str = "{}", definition: str = "mail") -> NewJob:
    return marked(NewJob(definition=definition, params=Document(params)))


def keys(children: SpawnKeys, *jobs: NewJob) -> list[str | None]:
    return [job.key for job in children.named(jobs)]


def test_the_same_words_have_the_same_keys_in_every_attempt() -> None:
    jobs = [
        new_job('{"a":1,"b":2}'),
        new_job('{"a":2}'),
        new_job(definition="wire"),
        new_job('{"b":2,"a":1}'),
    ]
    first, second = (keys(SpawnKeys(PARENT), *jobs) for _ in range(2))
    assert first == second
    assert len(set(first)) == len(jobs)
    assert set(first).isdisjoint(keys(SpawnKeys(uuid4()), *jobs))


def test_a_later_version_of_a_definition_asks_in_the_same_words() -> None:
    """As after a deploy between two attempts."""
    one, two = (marked(NewJob(definition="mail", version=version)) for version in (1, 2))
    assert keys(SpawnKeys(PARENT), one) == keys(SpawnKeys(PARENT), two)


def test_a_key_that_the_handler_gave_stays_and_one_that_is_sent_for_a_child_does_not() -> None:
    """An attempt cannot name a child of another job, whatever its process sends."""
    own = marked(NewJob(definition="mail", scope="mail", key="own"))
    forged = NewJob(definition="mail", scope=CHILDREN, key=f"{uuid4()}/mail/0/1")
    plain = NewJob(definition="mail")
    named = SpawnKeys(PARENT).named([own, forged, plain])
    assert [job.key for job in named] == ["own", keys(SpawnKeys(PARENT), new_job())[0], None]


def test_what_may_not_have_been_made_is_asked_for_under_its_key_again() -> None:
    children = SpawnKeys(PARENT)
    first, second, third = (children.named([new_job()]) for _ in range(3))
    children.take_back(second)
    children.take_back(first)
    assert keys(children, new_job(), new_job(), new_job())[:2] == [first[0].key, second[0].key]
    assert third[0].key not in keys(children, new_job())


def test_a_key_of_our_making_is_not_shown_as_one_that_was_given() -> None:
    class Shown:
        def __init__(self, key: str | None, parent: UUID | None) -> None:
            self.key, self.parent = key, parent

    [made] = keys(SpawnKeys(PARENT), new_job())
    assert given_key(Shown(made, PARENT)) is None
    assert given_key(Shown("own", PARENT)) == given_key(Shown("own", None)) == "own"


def test_the_longest_key_can_be_kept() -> None:
    [longest] = SpawnKeys(PARENT).named([new_job(definition="d" * 120)])
    assert longest.key is not None
    assert len(longest.key) + 10 <= 255
