"""Follows the events of all jobs, from any event loop or from plain code."""

from collections.abc import AsyncIterator, Collection, Iterator
from typing import TYPE_CHECKING

from tenure.core.errors import InvalidInput
from tenure.core.reports.reading import Interest, Position
from tenure.surfaces.library.runtimes import Runtimes

if TYPE_CHECKING:
    from tenure.engine.client.feed import Reader
    from tenure.surfaces.library.records import FeedRecord

_LONGEST_READ = 60.0
"""Seconds after which a read that brought nothing is repeated."""


def interest_in(
    namespace: str, definition: str | None, queue: str | None, types: Collection[str]
) -> Interest:
    """Which events to follow. Raises InvalidInput for what no event can match."""
    if isinstance(types, str):
        raise InvalidInput("types", "are one text", "give a list of them")
    return Interest(namespace=namespace, definition=definition, queue=queue, types=frozenset(types))


def place(after: Position | str | None) -> Position | None:
    """Where to continue. Raises InvalidInput for a text that is not a position."""
    return Position.read(after) if isinstance(after, str) else after


async def follow(
    runtimes: Runtimes, interest: Interest, after: Position | None
) -> "AsyncIterator[FeedRecord]":
    """Events as they come, without end."""
    from tenure.surfaces.library.records import feed_record

    runtime = runtimes.here()
    # Always aside: a reader stays on the loop on which it began.
    reader = await runtime.call(lambda client: client.feed.subscribe(interest, after=after), aside=True)
    with reader:
        while _is_open(reader):
            for entry in await runtime.call(lambda _: reader.read(_LONGEST_READ), aside=True):
                yield feed_record(entry)


def follow_sync(runtimes: Runtimes, interest: Interest, after: Position | None) -> "Iterator[FeedRecord]":
    """The same for plain synchronous code."""
    from tenure.surfaces.library.records import feed_record

    runtime = runtimes.here()
    reader = runtime.block_on(runtime.call(lambda client: client.feed.subscribe(interest, after=after)))
    with reader:
        while _is_open(reader):
            yield from map(feed_record, runtime.block_on(reader.read(_LONGEST_READ)))


def _is_open(reader: "Reader") -> bool:
    """Return True, or raise the reader's failure: nothing may be opened again then."""
    if reader.failure is not None:
        raise reader.failure
    return True
