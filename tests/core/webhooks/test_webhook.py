"""What a webhook may ask for."""

from uuid import UUID

import pytest

from tenure.core.reports.reading import EVENT_TYPES
from tenure.core.webhooks.webhook import NewWebhook


def types_of(*events: str) -> set[str]:
    return set(NewWebhook(id=UUID(int=1), url="https://example.com", events=events).types)


@pytest.mark.parametrize(
    ("group", "types"),
    [
        ("onStart", {"started"}),
        ("onSuccess", {"succeeded"}),
        ("onFail", {"failed", "buried"}),
        ("onEnd", {"succeeded", "failed", "buried", "cancelled"}),
    ],
)
def test_a_group_is_the_events_that_it_promises(group: str, types: set[str]) -> None:
    """S1.17, S1.73: a job that was buried has failed, and every final state is an end."""
    assert types_of(group) == types
    assert types_of(group, "custom:paid") == {*types, "custom:paid"}


def test_every_type_of_event_can_be_asked_for_by_its_own_name() -> None:
    """S1.73"""
    assert types_of(*EVENT_TYPES) == set(EVENT_TYPES)
