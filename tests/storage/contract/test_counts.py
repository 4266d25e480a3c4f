"""How many jobs a filter means, state by state: exact by totals, else as far as was looked."""

from collections import Counter
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.core.values import fingerprint
from tenure.storage.contract.store import Store
from tenure.storage.mapping.paging import BUDGET
from tests.storage.clock import START, Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import (
    BOOM,
    claim,
    enqueue_one,
    listed,
    one_in_each_state,
    seconds,
    settle,
    succeeded,
)

NAMED = (
    Filter(),
    Filter(definition="mail"),
    Filter(queue="slow", version=2),
    Filter(queue="default", definition="post"),
    Filter(definition="unheard-of"),
    Filter(tag="red"),
    Filter(namespace="theirs"),
    Filter(tag="blue", definition="mail"),
    Filter(created_after=START + seconds(1)),
    Filter(fingerprint=fingerprint.of("mail", BOOM)),
)


async def test_after_every_verb_the_counts_are_those_of_the_list(store: Store, clock: Clock) -> None:
    """Whichever way they are found."""
    async for verb, _ in lives(store, clock):
        for which in NAMED:
            shown = Counter(job.state for job in await listed(store, which))
            assert await store.counts(which) == {state: Count(shown[state]) for state in State}, (verb, which)


async def test_the_states_of_a_filter_do_not_narrow_its_counts(store: Store) -> None:
    """Else the other pills would say nothing."""
    await one_in_each_state(store, tags=("red",))
    for which in (Filter(), Filter(tag="red")):
        narrowed = Filter(tag=which.tag, states=frozenset({State.FAILED, State.QUEUED}))
        assert await store.counts(narrowed) == await store.counts(which) == dict.fromkeys(State, Count(1))


async def test_totals_have_no_bound_and_what_is_looked_through_has(store: Store) -> None:
    jobs = NewJob(definition="mail", tags=("red",))
    ids: list[UUID] = [job.id for job in await store.enqueue([jobs] * (BUDGET + 1))]
    await settle(store, [succeeded(claimed) for claimed in await claim(store, limit=3)])
    last = await enqueue_one(store, "post", tags=("blue",))
    assert len({*ids, last}) == BUDGET + 2
    assert (await store.counts(Filter(definition="mail")))[State.QUEUED] == Count(BUDGET - 2)
    counts_by_state = await store.counts(Filter(tag="red"))
    assert counts_by_state[State.QUEUED].is_more
    assert counts_by_state[State.QUEUED].n + counts_by_state[State.SUCCEEDED].n == BUDGET
    assert (await store.counts(Filter(tag="blue")))[State.QUEUED] == Count(1)
