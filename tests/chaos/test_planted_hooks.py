"""Every invariant of webhooks is seen red: a run with a single row changed by hand breaks that one."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from chaos.checker import check
from chaos.evidence import Evidence
from chaos.webhooks.told import Received
from tenure.core.webhooks.delivery import DeliveryState
from tests.chaos import hook_stories
from tests.chaos.hook_stories import TERMS
from tests.chaos.scene import Scene
from tests.storage.backends import SqliteBackend

HOOKS = {"I58", "I59", "I60", "I61"}


@dataclass(frozen=True)
class Told:
    """Evidence of two webhooks, of which single things can be changed."""

    evidence: Evidence

    def but(self, **changed: Any) -> "Told":
        return Told(replace(self.evidence, **changed))

    @property
    def first(self) -> Received:
        """The first message about an end; it came twice."""
        webhook = self.evidence.hooks[0].asked.id
        return next(one for one in self.evidence.received if one.hook == webhook)

    def request(self, **changed: Any) -> "Told":
        """The first request with something changed."""
        first = self.first
        received = [replace(one, **changed) if one is first else one for one in self.evidence.received]
        return self.but(received=received)

    def everywhere(self, **changed: Any) -> "Told":
        """All requests of the first message with something changed."""
        received = [replace(one, **changed) if self._is_first(one) else one for one in self.evidence.received]
        return self.but(received=received)

    def _is_first(self, one: Received) -> bool:
        return (one.hook, one.message) == (self.first.hook, self.first.message)

    def renamed(self, message: str) -> "Told":
        return self.request(headers={**self.first.headers, "webhook-id": message})

    def delivery(self, **changed: Any) -> "Told":
        deliveries = [
            replace(one, **changed)
            if one.message == self.first.message and one.webhook == self.first.hook
            else one
            for one in self.evidence.deliveries
        ]
        assert deliveries != self.evidence.deliveries, "there is nothing to forge"
        return self.but(deliveries=deliveries)

    def hook(self, **changed: Any) -> "Told":
        """The first webhook as if it had asked for something else."""
        first, *others = self.evidence.hooks
        return self.but(hooks=[replace(first, asked=replace(first.asked, **changed)), *others])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Such a life, as it was."""

    async def run() -> Told:
        backend = SqliteBackend(tmp_path_factory.mktemp("told") / "tenure.db")
        await backend.prepare()
        store = backend.store()
        await store.open()
        try:
            scene = Scene(store, backend.clock)
            await hook_stories.told(scene)
            return Told(await scene.evidence(TERMS))
        finally:
            await store.close()

    return asyncio.run(run())


def _without(told: Told) -> Told:
    """The first message never came to the first webhook."""
    first = told.first
    kept = [one for one in told.evidence.received if (one.hook, one.message) != (first.hook, first.message)]
    return told.but(received=kept)


Forgery = Callable[[Told], Told]
FORGERIES: list[tuple[set[str], str, Forgery]] = [
    ({"I58", "I61"}, "a message that never came", _without),
    ({"I58", "I61"}, "a message that was refused", lambda t: t.everywhere(answered=500)),
    ({"I58"}, "an event that nobody fanned out", lambda t: t.hook(events=("onEnd", "onStart"))),
    ({"I59"}, "a message that was not asked for", lambda t: t.hook(events=("failed",))),
    ({"I59"}, "a message of another queue", lambda t: t.hook(queues=("other",))),
    ({"I59"}, "a message of another namespace", lambda t: t.hook(namespace="other")),
    ({"I59"}, "a message without the tag", lambda t: t.hook(tags=("red",))),
    ({"I58", "I59"}, "a message to a place that no webhook leads to", lambda t: t.everywhere(hook=None)),
    (
        {"I59", "I60"},
        "a message that says something else",
        lambda t: t.request(body=t.first.body.replace('"succeeded"', '"failed"')),
    ),
    ({"I59", "I60"}, "a message of no event", lambda t: t.renamed(f"msg_{uuid4().hex}_3")),
    ({"I60"}, "a body that was changed", lambda t: t.request(body=t.first.body.replace(":", ": ", 1))),
    (
        {"I60"},
        "a signature of somebody else",
        lambda t: t.request(headers={**t.first.headers, "webhook-signature": "v1,AAAA"}),
    ),
    ({"I60"}, "a message without a signature", lambda t: t.request(headers={"webhook-id": t.first.message})),
    ({"I61"}, "a delivery under another number", lambda t: t.delivery(n=9)),
    ({"I61"}, "a delivery that still waits", lambda t: t.delivery(state=DeliveryState.WAITING)),
    ({"I61"}, "deliveries that are gone", lambda t: t.but(deliveries=[])),
]


def test_nothing_is_found_where_nothing_is_forged(told: Told) -> None:
    assert check(told.evidence) == []
    assert len(told.evidence.received) > len(told.evidence.deliveries) > 2


@pytest.mark.parametrize(
    ("broken", "forgery"),
    [pytest.param(broken, forgery, id=f"{min(broken)}: {story}") for broken, story, forgery in FORGERIES],
)
def test_a_row_changed_by_hand_breaks_its_invariant(told: Told, broken: set[str], forgery: Forgery) -> None:
    found = {one.invariant: one for one in check(forgery(told).evidence)}
    assert broken <= set(found) <= HOOKS, found
