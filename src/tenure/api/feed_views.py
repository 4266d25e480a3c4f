"""Events of all jobs as operators see them; each adds the job's definition, queue and namespace."""

import msgspec

from tenure.api.redaction import USUAL, Redaction
from tenure.api.views import EventItem, event_item
from tenure.core.reports.reading import FeedEntry


class FeedItem(EventItem, frozen=True, kw_only=True, rename="camel"):
    """An event of any job, with the job's definition, queue and namespace."""

    namespace: str
    definition_key: str
    definition_version: int
    queue: str


def feed_item(entry: FeedEntry, redaction: Redaction = USUAL) -> FeedItem:
    """An event in the feed of all jobs."""
    return FeedItem(
        **msgspec.structs.asdict(event_item(entry.event, redaction)),
        namespace=entry.namespace,
        definition_key=entry.line.definition,
        definition_version=entry.line.version,
        queue=entry.line.queue,
    )
