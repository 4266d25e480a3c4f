"""Which tests begin first: those that take long, so that none of them is left to run alone in the end.

pytest gives each of its processes an equal piece of the list; one that is done takes half of what another has
left, from the end. So the long ones are dealt to the pieces, each to the beginning of one. Those that share
servers are dealt as one: dealt apart, each piece would start them anew.
"""

from collections.abc import Sequence
from itertools import chain, groupby
from typing import TypeVar

import pytest

T = TypeVar("T")

LONG = (
    "tests/browser/",
    "tests/examples/image_service/",
    "tests/model/test_stores.py",
    "tests/surfaces/test_rolling_upgrade.py",
    "tests/chaos/test_short.py",
    "tests/chaos/test_messages.py",
    "tests/chaos/test_schedules.py",
    "tests/chaos/test_webhooks.py",
    "tests/worker/test_flooding.py",
    "tests/worker/test_failover.py",
    "tests/relay/messages/",
    "tests/surfaces/http/docs/test_document.py",
    "tests/relay/test_killed.py",
    "tests/relay/test_webhooks.py",
    "tests/relay/test_idle.py",
    "tests/storage/touched/",
)
"""What takes ten seconds or more, the longest first."""

SHARING = ("tests/browser/", "tests/examples/image_service/", "tests/relay/messages/")
"""Long ones that share what takes seconds to start: a browser, a cloud with an API and a worker, a broker."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    ranks = {item: _rank(item.nodeid) for item in items}
    long = sorted((item for item in items if ranks[item] < len(LONG)), key=ranks.__getitem__)
    dealt = [list(group) for _, group in groupby(long, lambda item: _dealt_with(item.nodeid))]
    items[:] = arranged(dealt, [item for item in items if ranks[item] == len(LONG)], processes)


def arranged(long: Sequence[Sequence[T]], others: Sequence[T], pieces: int) -> list[T]:
    """Both in one list: groups of long ones begin its pieces, in turn; the others keep their order."""
    dealt = [list(chain.from_iterable(long[piece::pieces])) for piece in range(pieces)]
    rest = sum(map(len, dealt)) + len(others)
    made: list[list[T]] = []
    used = 0
    for piece, first in enumerate(dealt):
        # As many as xdist gives: of what is left, an equal part.
        size = rest // (pieces - piece)
        room = max(0, size - len(first))
        made.append([*first, *others[used : used + room]])
        used += room
        rest -= size
    return [*chain.from_iterable(made), *others[used:]]


def _rank(name: str) -> int:
    return next((rank for rank, place in enumerate(LONG) if name.startswith(place)), len(LONG))


def _dealt_with(name: str) -> str:
    """What a long test is dealt with: the others of its place that share servers, or none."""
    return next((place for place in SHARING if name.startswith(place)), name)
