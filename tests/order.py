"""Which tests begin first: those that take long, so that none of them is left to run alone in the end.

pytest gives each of its processes an equal piece of the list; one that is done takes half of what another has
left, from the end. So the long ones are dealt to the pieces, each to the beginning of one.
"""

from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

import pytest

T = TypeVar("T")

LONG = (
    "tests/model/test_stores.py",
    "tests/surfaces/test_rolling_upgrade.py",
    "tests/chaos/test_short.py",
    "tests/chaos/test_messages.py",
    "tests/chaos/test_schedules.py",
    "tests/chaos/test_webhooks.py",
    "tests/worker/test_flooding.py",
    "tests/worker/test_failover.py",
    "tests/examples/image_service/test_service.py",
    "tests/examples/image_service/test_outages.py",
    "tests/examples/image_service/test_killed.py",
    "tests/relay/messages/test_many.py",
    "tests/relay/messages/test_killed.py",
    "tests/surfaces/http/docs/test_document.py",
    "tests/relay/test_killed.py",
    "tests/relay/test_webhooks.py",
    "tests/relay/test_idle.py",
    "tests/storage/touched/",
)
"""What takes ten seconds or more, the longest first."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    ranks = {item: _rank(item.nodeid) for item in items}
    long = sorted((item for item in items if ranks[item] < len(LONG)), key=ranks.__getitem__)
    items[:] = arranged(long, [item for item in items if ranks[item] == len(LONG)], processes)


def arranged(long: Sequence[T], others: Sequence[T], pieces: int) -> list[T]:
    """Both in one list: the long ones begin its pieces, in turn; the others keep their order."""
    dealt = [long[piece::pieces] for piece in range(pieces)]
    rest = len(long) + len(others)
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
