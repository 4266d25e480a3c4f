"""Events of all jobs as operators see them; each is the event of its job, with what it is of."""

import msgspec

from tenure.core.reading import Entry
from tenure.surfaces.redaction import USUAL, Redaction
from tenure.surfaces.views import EventItem, event_item


class FeedItem(EventItem, frozen=True, kw_only=True, rename="camel"):
    """Something on record of some job, with what it is of."""

    namespace: str
    definition_key: str
    definition_version: int
    queue: str


def feed_item(entry: Entry, redaction: Redaction = USUAL) -> FeedItem:
    """An event in the feed of all jobs."""
    return FeedItem(
        **msgspec.structs.asdict(event_item(entry.event, redaction)),
        namespace=entry.namespace,
        definition_key=entry.line.definition,
        definition_version=entry.line.version,
        queue=entry.line.queue,
    )
