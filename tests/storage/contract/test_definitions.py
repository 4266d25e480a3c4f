"""Definitions as they were registered: the last word of the code, and an operator's beside it."""

from tenure.core.reports.operations import Definition
from tenure.core.values.documents import EMPTY, Document
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import seconds

SPEC = Document('{"timeout":"1h"}')
OTHER_SPEC = Document('{"timeout":"2h"}')
OVERRIDE = Document('{"paused":true}')


def mail(
    spec: Document = SPEC, version: int = 1, override: Document | None = None, by: str = "ann"
) -> Definition:
    return Definition(key="mail", version=version, spec=spec, override=override, registered_by=by)


async def test_a_store_begins_without_definitions(store: Store) -> None:
    assert await store.definitions() == []
    assert await store.put_definitions([]) == []


async def test_a_definition_is_kept_as_it_was_registered(store: Store) -> None:
    """S1.37: with when, by the store's time, and by whom."""
    assert await store.put_definitions([mail(override=OVERRIDE)]) == []
    assert await store.definitions() == [
        Definition(
            key="mail", version=1, spec=SPEC, override=OVERRIDE, registered_at=START, registered_by="ann"
        )
    ]


async def test_definitions_come_by_key_and_version(store: Store) -> None:
    """S1.37: each version is one of its own."""
    requested = [("post", 1), ("mail", 10), ("mail", 2), ("a.mail", 1), ("mail", 1)]
    await store.put_definitions(
        [Definition(key=key, version=version, spec=EMPTY) for key, version in requested]
    )
    assert [(each.key, each.version) for each in await store.definitions()] == sorted(requested)


async def test_registering_the_same_again_is_no_news(store: Store) -> None:
    """Every worker that starts does it."""
    await store.put_definitions([mail()])
    assert await store.put_definitions([mail()]) == []
    assert len(await store.definitions()) == 1


async def test_whoever_says_something_else_is_told_what_was_said_before(store: Store, clock: Clock) -> None:
    """Two releases of one version at once are a mistake that somebody should hear of."""
    await store.put_definitions([mail(), mail(version=2)])
    before = await store.definitions()
    now = await clock.advance(seconds(5))

    assert await store.put_definitions([mail(OTHER_SPEC, by="bob"), mail(version=2)]) == [before[0]]

    first, _ = await store.definitions()
    assert (first.spec, first.registered_at, first.registered_by) == (OTHER_SPEC, now, "bob")


async def test_what_an_operator_set_outlives_a_registration(store: Store) -> None:
    """Unless that brings something else in its place."""
    await store.put_definitions([mail(override=OVERRIDE)])
    await store.put_definitions([mail(OTHER_SPEC)])
    assert [each.override for each in await store.definitions()] == [OVERRIDE]
    await store.put_definitions([mail(override=EMPTY)])
    assert [each.override for each in await store.definitions()] == [EMPTY]


async def test_of_two_in_one_call_the_last_stands(store: Store) -> None:
    await store.put_definitions([mail(SPEC), mail(OTHER_SPEC)])
    assert [each.spec for each in await store.definitions()] == [OTHER_SPEC]


async def test_definitions_are_everybodys(store: Store, other: Store) -> None:
    await store.put_definitions([mail()])
    assert await other.definitions() == await store.definitions()
    assert len(await other.put_definitions([mail(OTHER_SPEC)])) == 1


async def test_what_is_not_to_be_replaced_stays(store: Store) -> None:
    """Whoever registers something else is told what stands there; the same again is taken."""
    await store.put_definitions([mail()])
    before = await store.definitions()
    assert await store.put_definitions([mail(OTHER_SPEC, by="bob")], replace=False) == before
    assert await store.definitions() == before
    assert await store.put_definitions([mail(by="bob"), mail(version=2)], replace=False) == []
    assert [known.registered_by for known in await store.definitions()] == ["bob", before[0].registered_by]
