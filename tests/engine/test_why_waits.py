"""What a suspended job waits for, and effects in doubt, as the answer to why it does not run."""

from tenure.core.reports.why import WhyCode
from tenure.storage.contract.store import Store
from tests.engine.explaining import AT, also, serve, why
from tests.storage.clock import START, Clock
from tests.storage.progress import asking, begin, in_doubt, waiting
from tests.storage.verbs import claim, enqueue_one, seconds


async def test_awaiting_signal(store: Store) -> None:
    """The sentence names the signal, and the command that sends it."""
    await serve(store)
    job = await waiting(store, "all clear")
    answer = await why(store, job)
    assert (answer.code, answer.since, answer.until) == (WhyCode.AWAITING_SIGNAL, START, None)
    assert answer.sentence == (
        "It gave its slot back and waits for the signal all clear. "
        f"Send it with `tenure jobs signal {job} 'all clear' PAYLOAD`."
    )
    assert also(answer) == [], "nothing is wrong with a job that waits without end"


async def test_the_end_of_a_wait_is_told(store: Store, clock: Clock) -> None:
    await serve(store)
    job = await waiting(store, timeout=seconds(80))
    answer = await why(store, job)
    assert (answer.code, answer.until) == (WhyCode.AWAITING_SIGNAL, START + seconds(80))
    assert f"approved, until {AT}:01:20 UTC, in 80 s at most. " in answer.sentence
    await clock.advance(seconds(81))
    assert (await why(store, job)).sentence.startswith("Its time has come")


async def test_in_doubt(store: Store) -> None:
    """An operator learns what to look at and what to run then."""
    await serve(store)
    job = await asking(store)
    answer = await why(store, job)
    assert (answer.code, answer.until) == (WhyCode.IN_DOUBT, None)
    assert answer.sentence == (
        "It waits for an answer. Its effect charge may or may not have happened: the attempt that began it "
        f"did not come to its end. Look, then run `tenure jobs answer {job} charge --happened`, or "
        f"`tenure jobs answer {job} charge --did-not-happen`."
    )
    assert answer.code.needs_person
    assert also(answer) == []


async def test_effects_in_doubt_are_told_of_jobs_that_do_not_wait_for_that(store: Store) -> None:
    """Of one that has ended, behind how it ended; an effect under way is in no doubt."""
    await serve(store)
    job = await in_doubt(store)
    answer = await why(store, job)
    assert (answer.code, also(answer)) == (WhyCode.FINISHED, [WhyCode.IN_DOUBT])
    assert f"(`tenure jobs replay {job}`) begins without its steps" in answer.sentence
    assert "Run it again" not in answer.sentence
    running = await enqueue_one(store)
    [held] = await claim(store)
    await begin(store, held, "charge")
    assert (await why(store, running)).code is WhyCode.RUNNING
    assert also(await why(store, running)) == []
    await store.hand_back("a", unstarted=[], killed=[held.lease])
    answer = await why(store, running)
    assert (answer.code, also(answer)) == (WhyCode.IN_LINE, [WhyCode.IN_DOUBT])
