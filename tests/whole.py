"""How much of what repeats is run: a part of it in every run, and all of it in `make long`.

Surfaces and workers talk to a store through one contract, which `tests/storage/contract` holds on both. So a
test of them runs on one of the stores, chosen by its name; it runs on both if it is marked `both_stores`, and
in `make long`. A test that is marked `long` is left to `make long` altogether.
"""

import os
import re
from collections import defaultdict
from zlib import crc32

import pytest

IS_WHOLE = bool(os.environ.get("TENURE_TEST_WHOLE"))
STORES = ("sqlite", "postgres")
DEALT = tuple(
    f"tests/{folder}/"
    for folder in (
        *("surfaces/cli", "surfaces/dashboard", "surfaces/http", "surfaces/remote"),
        *("telemetry", "relay/messages", "worker", "examples"),
    )
)
"""Folders of surfaces and workers: each test, and each case of it, runs on one of the stores in turn."""
CASES_DEALT = ("tests/surfaces/library/",)
"""Folders in which a test runs on both stores; if it has several cases, on each of them with some."""

_STORE = re.compile(rf"(?<=[\[-])({'|'.join(STORES)})(?=[\]-])")


def dealt(turn: int) -> tuple[str, ...]:
    """The stores for a test of something that does not depend on the store: one of them in turn, or all."""
    return STORES if IS_WHOLE else (STORES[turn % len(STORES)],)


def not_dealt(names: list[str]) -> set[str]:
    """Of tests that are there for every store, those on the stores whose turn it is not."""
    twins: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for name in names:
        if name.startswith((*DEALT, *CASES_DEALT)) and len(found := _STORE.findall(name)) == 1:
            twins[name.partition("[")[0]][_STORE.sub("*", name)][found[0]] = name
    return {
        name
        for test, cases in twins.items()
        if len(cases) > 1 or test.startswith(DEALT)
        for turn, by_store in enumerate(cases.values(), crc32(test.encode()))
        for store, name in by_store.items()
        if len(by_store) == len(STORES) and store not in dealt(turn)
    }


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: run by `make long` alone")
    config.addinivalue_line("markers", "both_stores: a test of a surface that depends on the store")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After a selection by `-k`: a test that is asked for on one store alone runs there."""
    names = [item.nodeid for item in items if not item.get_closest_marker("both_stores")]
    others = not_dealt(names)
    is_left = {item: bool(item.get_closest_marker("long")) or item.nodeid in others for item in items}
    if not IS_WHOLE and any(is_left.values()):
        config.hook.pytest_deselected(items=[item for item in items if is_left[item]])
        items[:] = [item for item in items if not is_left[item]]
