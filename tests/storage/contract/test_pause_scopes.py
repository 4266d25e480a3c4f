"""Pauses of definitions: of any queue or version, or of some; of several that hold a line, all must end."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Line
from tenure.core.reports.operations import Pause, PauseScope
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, seconds

SECOND = Line("default", "mail", 2)
SLOW = Line("slow", "mail")
SLOW_SECOND = Line("slow", "mail", 2)
POST = Line("default", "post")
LINES = (MAIL, SECOND, SLOW, SLOW_SECOND, POST)
NARROWING = (
    PauseScope("default"),
    PauseScope(definition="mail"),
    PauseScope("default", "mail"),
    PauseScope("", "mail", 1),
    PauseScope("default", "mail", 1),
)
"""All that hold MAIL; each is narrower than those before it."""


async def fill(store: Store) -> None:
    for line in LINES:
        await enqueue_one(store, line.definition, queue=line.queue, version=line.version)


async def claimed_lines(store: Store) -> set[Line]:
    return {Line(one.queue, one.definition, one.version) for one in await claim(store, lines=LINES)}


@pytest.mark.parametrize(
    ("scope", "held"),
    [
        (PauseScope(definition="mail"), {MAIL, SECOND, SLOW, SLOW_SECOND}),
        (PauseScope("", "mail", 2), {SECOND, SLOW_SECOND}),
        (PauseScope("slow", "mail"), {SLOW, SLOW_SECOND}),
        (PauseScope("slow", "mail", 2), {SLOW_SECOND}),
        (PauseScope("slow"), {SLOW, SLOW_SECOND}),
    ],
    ids=("definition", "version", "definition in a queue", "line", "queue"),
)
async def test_a_pause_holds_the_lines_of_its_scope_and_no_others(
    store: Store, scope: PauseScope, held: set[Line]
) -> None:
    await fill(store)
    await store.pause(scope)
    assert {status.line for status in await store.lines() if status.pause} == held
    assert await claimed_lines(store) == set(LINES) - held
    assert not (await store.outlook(sorted(held))).waiting
    assert await store.resume(scope)
    assert (await store.outlook(sorted(held))).waiting
    assert await claimed_lines(store) == held


async def test_a_line_that_comes_later_is_paused_with_its_definition(store: Store) -> None:
    """A new version and another queue alike, though nobody had heard of them."""
    await store.pause(PauseScope(definition="mail"))
    await fill(store)
    assert await claimed_lines(store) == {POST}


async def test_all_pauses_of_a_line_must_end_and_the_narrowest_is_shown(store: Store) -> None:
    await fill(store)
    for scope in NARROWING:
        await store.pause(scope)
    for scope in reversed(NARROWING):
        [shown] = [status.pause for status in await store.lines() if status.line == MAIL]
        assert shown is not None
        assert shown.scope == scope
        assert MAIL not in await claimed_lines(store)
        assert await store.resume(scope)
    assert MAIL in await claimed_lines(store)


async def test_a_pause_of_one_scope_is_not_ended_by_another(store: Store) -> None:
    """Not even by a wider one: who resumes names what was paused."""
    await store.pause(PauseScope(definition="mail"))
    for other in (MAIL, "default", PauseScope("default", "mail"), PauseScope("", "mail", 1)):
        assert not await store.resume(other)
    assert await store.resume(PauseScope(definition="mail"))


async def test_a_definitions_pause_ends_by_itself(store: Store, clock: Clock) -> None:
    await fill(store)
    await store.pause(PauseScope(definition="mail"), until=START + seconds(60))
    assert (await store.outlook([MAIL])).next_resume == START + seconds(60)
    assert await claimed_lines(store) == {POST}
    await clock.advance(seconds(60))
    assert await store.pauses() == []
    assert not [status for status in await store.lines() if status.pause]
    assert not await store.resume(PauseScope(definition="mail"))
    assert await claimed_lines(store) == set(LINES) - {POST}


async def test_a_wide_pause_alone_makes_no_line(store: Store) -> None:
    """It is listed among pauses; a line is known by its jobs, or by a pause of its own."""
    for scope in NARROWING[:-1]:
        await store.pause(scope)
    assert await store.lines() == []
    await store.pause(MAIL)
    assert [status.line for status in await store.lines()] == [MAIL]


async def test_pauses_in_force_are_listed(store: Store, clock: Clock) -> None:
    await store.pause("slow", until=START + seconds(9))
    now = await clock.advance(seconds(3))
    await store.pause(PauseScope("", "mail", 2), by="ann", reason="wrong")
    await store.pause(MAIL, until=now)
    assert await store.pauses() == [
        Pause(scope=PauseScope("", "mail", 2), at=now, until=None, by="ann", reason="wrong"),
        Pause(scope=PauseScope("slow"), at=START, until=START + seconds(9), by="api", reason=None),
    ]


async def test_a_claim_by_a_hint_finds_the_pause_of_its_definition(store: Store, other: Store) -> None:
    """Set by another process: what this one remembers of the line is from before."""
    await enqueue_one(store)
    assert await claim(store)
    assert await claim(store) == []
    await other.pause(PauseScope(definition="mail"))
    await enqueue_one(store)
    assert await claim(store) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ((), "queue"),
        (("", "", 2), "queue"),
        (("a", "", 2), "version"),
        (("a b",), "queue"),
        (("", "m" * 10_000), "definition"),
        (("", "mail", -1), "version"),
    ],
)
def test_what_names_no_lines_is_refused(given: tuple[str | int, ...], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        PauseScope(*given)  # type: ignore[arg-type]
    assert refused.value.field == field
