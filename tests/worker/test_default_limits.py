"""The default limits of an attempt, and the error for one that exceeds them."""

import json
import os
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tenure.core.model.lanes import LANES
from tenure.core.model.states import State
from tenure.execution.parent.memory_size import usual_memory
from tenure.storage.contract.store import Store
from tests.worker.running_worker import enqueue, reach
from tests.worker.worker_process import Command, worker_process

TARGET = "tests.worker.limits_app:app"
MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30
ANY = -1
"""What the system says where there is no limit."""

SMALL = {
    "TENURE_CHILD_FILES": "64",
    "TENURE_CHILD_FILE_BYTES": str(MEBIBYTE),
    "TENURE_CHILD_MEMORY_BYTES": str(512 * MEBIBYTE),
}


@pytest.fixture
def address(tmp_path: Path) -> str:
    """No store is concerned: one kind is enough."""
    return f"sqlite:///{tmp_path / 'tenure.db'}"


async def limits_of(store: Store, definition: str) -> list[int]:
    done = await reach(store, await enqueue(store, definition), State.SUCCEEDED)
    found: list[int] = json.loads(done.result or "")
    return found


async def test_attempts_of_every_lane_have_limits(store: Store, address: str) -> None:
    """S1.78: numbers that ordinary jobs never meet; a definition has its own, or none."""
    async with worker_process(address, target=TARGET, TENURE_LOG_FORMAT="console") as worker:
        for lane in LANES:
            files, size, memory = await limits_of(store, f"{lane}.limits")
            assert (files, size) == (1024, 4 * GIBIBYTE), lane
            assert memory == usual_memory(), lane
        assert await limits_of(store, "process.own") == [64, 4 * GIBIBYTE, GIBIBYTE]
        given = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert await limits_of(store, "process.lifted") == [given, 4 * GIBIBYTE, ANY]
        notice = await worker.wait_for("isolation: limits")
    assert f"memory {usual_memory() // MEBIBYTE:,} MiB (TENURE_CHILD_MEMORY_BYTES)" in notice
    assert "open files 1,024 (TENURE_CHILD_FILES)" in notice
    assert "size of a file 4,096 MiB (TENURE_CHILD_FILE_BYTES)" in notice


@pytest_asyncio.fixture
async def modest(address: str, store: Store) -> AsyncIterator[Command]:
    """A worker whose attempts may take little."""
    async with worker_process(address, target=TARGET, **SMALL) as worker:
        yield worker


@pytest.mark.parametrize(
    ("definition", "setting"),
    [
        ("files", "TENURE_CHILD_FILES"),
        ("write", "TENURE_CHILD_FILE_BYTES"),
        ("write.warm", "TENURE_CHILD_FILE_BYTES"),
        ("write.async", "TENURE_CHILD_FILE_BYTES"),
        ("write.command", "TENURE_CHILD_FILE_BYTES"),
        ("memory", "TENURE_CHILD_MEMORY_BYTES"),
        ("threads", "TENURE_CHILD_MEMORY_BYTES"),
        ("enomem", "TENURE_CHILD_MEMORY_BYTES"),
    ],
)
async def test_who_meets_a_limit_is_told_its_name(
    store: Store, modest: Command, definition: str, setting: str
) -> None:
    job = await enqueue(store, definition, {"size": 600 * MEBIBYTE}, policy={"max_attempts": 1})
    assert (await reach(store, job, State.SUCCEEDED, State.FAILED)).state is State.FAILED
    [attempt] = await store.attempts(job)
    assert attempt.error is not None
    assert setting in attempt.error.message, attempt.error


async def test_a_definition_lifts_its_limit(store: Store, modest: Command) -> None:
    job = await enqueue(store, "memory.lifted", {"size": 600 * MEBIBYTE})
    assert (await reach(store, job, State.SUCCEEDED, State.FAILED)).result == str(600 * MEBIBYTE)


def made(folder: Path, limits: dict[str, str]) -> Path:
    for name, limit in limits.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{limit}\n")
    return folder


@pytest.mark.parametrize(
    ("groups", "limits", "memory"),
    [
        ("0::/", {"memory.max": "max"}, None),
        ("0::/", {"memory.max": str(6 * GIBIBYTE)}, 3 * GIBIBYTE),
        ("0::/a/b", {"a/memory.max": str(6 * GIBIBYTE), "a/b/memory.max": "max"}, 3 * GIBIBYTE),
        ("0::/../host/a", {"memory.max": str(8 * GIBIBYTE)}, 4 * GIBIBYTE),
        ("0::/", {"memory.max": str(GIBIBYTE)}, 2 * GIBIBYTE),
        (
            "5:cpu:/\n4:memory:/a\n0::/",
            {"memory/a/memory.limit_in_bytes": str(6 * GIBIBYTE), "memory.max": "max"},
            3 * GIBIBYTE,
        ),
    ],
)
def test_half_of_what_a_container_has_is_usual(
    tmp_path: Path, groups: str, limits: dict[str, str], memory: int | None
) -> None:
    """Of either version of control groups, also where a group around it says less; two gibibytes at least."""
    membership = tmp_path / "membership"
    membership.write_text(f"{groups}\n")
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    half = max(pages * page // 2, 2 * GIBIBYTE)
    expected = half if memory is None else min(memory, half)
    assert usual_memory(made(tmp_path / "groups", limits), membership) == expected
    assert usual_memory(tmp_path / "nothing", tmp_path / "nothing") == half
