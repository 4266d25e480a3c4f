"""Following what happens to all jobs, from whatever loop or from none."""

from collections.abc import AsyncIterator, Collection, Iterator
from typing import TYPE_CHECKING

from tenure.core.errors import InvalidInput
from tenure.core.reading import Entry, Interest, Position
from tenure.surfaces.library.runtimes import Runtimes

if TYPE_CHECKING:
    from tenure.engine.feed import Reader

_LONGEST_READ = 60.0
"""Seconds after which a reading that brought nothing is begun anew."""


def interest_in(
    namespace: str, definition: str | None, queue: str | None, types: Collection[str]
) -> Interest:
    """Which events are followed. Raises InvalidInput for what no event can be of."""
    if isinstance(types, str):
        raise InvalidInput("types", "are one text", "give a list of them")
    return Interest(namespace=namespace, definition=definition, queue=queue, types=frozenset(types))


def place(after: Position | str | None) -> Position | None:
    """Where to go on. Raises InvalidInput for a text that stands for no place."""
    return Position.read(after) if isinstance(after, str) else after


async def follow(runtimes: Runtimes, interest: Interest, after: Position | None) -> AsyncIterator[Entry]:
    """Events as they come, for ever."""
    runtime = runtimes.here()
    # Aside in any case: a reader stays on the loop on which it began.
    reader = await runtime.call(lambda client: client.feed.subscribe(interest, after=after), aside=True)
    with reader:
        while _is_open(reader):
            for entry in await runtime.call(lambda _: reader.read(_LONGEST_READ), aside=True):
                yield entry


def follow_sync(runtimes: Runtimes, interest: Interest, after: Position | None) -> Iterator[Entry]:
    """The same for plain synchronous code."""
    runtime = runtimes.here()
    reader = runtime.block_on(runtime.call(lambda client: client.feed.subscribe(interest, after=after)))
    with reader:
        while _is_open(reader):
            yield from runtime.block_on(reader.read(_LONGEST_READ))


def _is_open(reader: "Reader") -> bool:
    """True; raises why not when it is not, before anything is opened again."""
    if reader.failure is not None:
        raise reader.failure
    return True
