"""The lanes by name: what they share, and what each does with the user's module."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenure.core.errors import TenureError
from tenure.core.model.retry import Raised, Returned
from tenure.execution.lanes import Lanes
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import is_alive, run
from tests.execution.test_importing import APP, THREADS
from tests.execution.zygote.test_survivors import descendants, parent_of

Make = Callable[..., Lanes]
RUNNERS = ["warm", "async", "thread"]


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Lanes for modules that are written as the test goes along."""
    made: list[Lanes] = []

    def lanes(source: str, spares: int = 2) -> Lanes:
        (tmp_path / "shop.py").write_text(source)
        made.append(
            Lanes("shop:app", folder=tmp_path, environment=ChildEnvironment(os.environ), spares=spares)
        )
        return made[-1]

    yield lanes
    for each in made:
        await each.close()


async def seen_by(lanes: Lanes, name: str) -> dict[str, Any]:
    end = (await run(lanes.named(name), "tells")).end
    assert isinstance(end, Returned)
    seen: dict[str, Any] = json.loads(end.result)
    return seen


def guards() -> list[int]:
    """Those that this process has started and that live."""
    return [pid for pid in descendants(os.getpid()) if is_alive(pid) and parent_of(pid) == os.getpid()]


async def test_spawn_imports_the_app_in_every_attempt_and_process_does_not(make: Make) -> None:
    """The zygote of `spawn` comes when it is first needed, and knows nothing of the app."""
    others = descendants(os.getpid())
    lanes = make(APP)
    assert await lanes.start() == b"xxx"
    alone = guards()
    seen = [await seen_by(lanes, "process") for _ in range(2)]
    assert len({each["imported_by"] for each in seen}) == 1
    assert guards() == alone
    for _ in range(3):
        own = await seen_by(lanes, "spawn")
        assert own["imported_by"] == own["pid"]
    assert len(guards()) == len(alone) + 1
    assert lanes.notice is None
    below = descendants(os.getpid()) - others
    await lanes.close()
    assert not any(map(is_alive, below))


async def test_spawn_runs_a_module_that_starts_threads(make: Make) -> None:
    lanes = make(APP + THREADS)
    await lanes.start()
    assert (await seen_by(lanes, "spawn"))["threads"] == 3


async def test_spawn_names_a_module_that_has_broken_since(make: Make) -> None:
    lanes = make(APP)
    await lanes.start()
    make("1 / 0")
    end = (await run(lanes.named("spawn"), "tells")).end
    assert isinstance(end, Raised)
    assert "division by zero" in end.error.message
    assert (await seen_by(lanes, "process"))["threads"] == 1


async def test_a_lane_that_does_not_exist_is_named(make: Make) -> None:
    with pytest.raises(TenureError, match=r"no lane 'fast'; there are .*process.*spawn"):
        make(APP).named("fast")


@pytest.mark.parametrize("name", RUNNERS)
async def test_a_runner_imports_once_what_cannot_be_forked(make: Make, name: str) -> None:
    lanes = make(APP + THREADS)
    await lanes.start()
    seen = [await seen_by(lanes, name) for _ in range(3)]
    assert {each["imported_by"] for each in seen} == {each["pid"] for each in seen}
    assert len({each["pid"] for each in seen}) == 1


@pytest.mark.parametrize("name", RUNNERS)
async def test_a_runner_that_cannot_import_it_says_so_and_is_replaced(make: Make, name: str) -> None:
    lanes = make(APP + THREADS, spares=0)
    await lanes.start()
    make("1 / 0")
    for _ in range(2):
        end = (await run(lanes.named(name), "tells")).end
        assert isinstance(end, Raised)
        assert "division by zero" in end.error.message
    make(APP + THREADS)
    assert (await seen_by(lanes, name))["pid"]
