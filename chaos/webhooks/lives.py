"""What is known of each webhook: what it should be told, by a judgement of its own, and what came.

Nothing here is shared with what fans events out: names of groups and filters are written anew.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from msgspec import Struct

from chaos.evidence import Evidence
from chaos.webhooks.told import Hook, Received
from tenure.core.model.job import Job
from tenure.core.reports.reading import FeedEntry
from tenure.core.webhooks.delivery import Delivery

GROUPS = {
    "onStart": {"started"},
    "onSuccess": {"succeeded"},
    "onFail": {"failed", "buried"},
    "onEnd": {"succeeded", "failed", "buried", "cancelled"},
}


class Happened(Struct, frozen=True):
    """An event that was committed, with the tags of its job."""

    entry: FeedEntry
    tags: tuple[str, ...]

    @property
    def message(self) -> str:
        """The id of the message about it."""
        event = self.entry.event
        return f"msg_{event.job.hex}_{event.n}"


@dataclass
class HookLife:
    """One webhook."""

    hook: Hook
    happened: dict[str, Happened]
    """Everything that was committed, by message."""
    kept: frozenset[UUID]
    """The jobs that are still there."""
    received: list[Received] = field(default_factory=list)
    deliveries: dict[str, Delivery] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> dict[str, Happened]:
        """What it asked for, by message."""
        return {message: one for message, one in self.happened.items() if wants(self.hook, one)}

    @cached_property
    def owed(self) -> dict[str, Happened]:
        """What it has to be told: of the time before it was made, or of a pause, only what was kept."""
        return {
            message: one
            for message, one in self.wanted.items()
            if one.entry.event.job in self.kept
            or (one.entry.position > self.hook.after and not self.hook.rests)
        }

    @cached_property
    def taken(self) -> set[str]:
        """The messages that its receiver has."""
        return {one.message for one in self.received if one.was_taken}


def wants(hook: Hook, happened: Happened) -> bool:
    """Whether a webhook asked for an event."""
    asked, entry = hook.asked, happened.entry
    types = {name for event in asked.events for name in GROUPS.get(event, {event})}
    is_later = entry.position > hook.after
    return (
        entry.event.type in types
        and (is_later or (hook.since is not None and entry.event.at >= hook.since))
        and (asked.namespace is None or entry.namespace == asked.namespace)
        and (not asked.definitions or entry.line.definition in asked.definitions)
        and (not asked.queues or entry.line.queue in asked.queues)
        and (not asked.tags or any(tag in asked.tags for tag in happened.tags))
    )


def happenings(feed: Sequence[FeedEntry], jobs: Iterable[Job]) -> dict[str, Happened]:
    """The events of a feed by message."""
    tags = {job.id: tuple(job.tags) for job in jobs}
    found = (Happened(entry, tags.get(entry.event.job, ())) for entry in feed)
    return {one.message: one for one in found}


def hook_lives(
    hooks: Iterable[Hook], requests: Iterable[Received], happened: dict[str, Happened], kept: frozenset[UUID]
) -> dict[UUID, HookLife]:
    """What is known of each webhook, by its id, while these jobs are still there."""
    received: dict[UUID | None, list[Received]] = defaultdict(list)
    for request in requests:
        received[request.hook].append(request)
    return {hook.asked.id: HookLife(hook, happened, kept, received[hook.asked.id]) for hook in hooks}


def hooks_in(evidence: Evidence) -> dict[UUID, HookLife]:
    """What evidence says of each webhook."""
    jobs = [*(sighting.job for sighting in evidence.sightings), *evidence.jobs]
    happened = happenings(evidence.feed, jobs)
    kept = frozenset(job.id for job in evidence.jobs)
    lives = hook_lives(evidence.hooks, evidence.received, happened, kept)
    for delivery in evidence.deliveries:
        lives[delivery.webhook].deliveries[delivery.message] = delivery
    return lives
