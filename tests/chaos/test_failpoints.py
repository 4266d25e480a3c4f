"""Failpoints: every place is there, each fires at the passing that was meant; off, they are nothing."""

import inspect
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from chaos import failpoints
from chaos.failpoints import PLACES, Armed, find
from tenure.execution.protocol.assignment import Assignment

ROOT = Path(__file__).parents[2]
TARGETS = sorted({target for place in PLACES.values() for target in place.target.split()})

REAPS = """
import asyncio, sys
from chaos import failpoints
from tenure.storage.address import open_store

async def main():
    failpoints.arm("worker")
    store = await open_store(f"sqlite:///{sys.argv[1]}")
    for _ in range(int(sys.argv[2])):
        try:
            print(await store.reap(10))
        except RuntimeError as error:
            print(error)
    await store.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("target", TARGETS)
def test_every_place_is_a_function_of_the_product(target: str) -> None:
    _, name, function = find(target)
    assert inspect.isfunction(function)
    assert function.__name__ == name
    assert function.__module__.startswith("tenure.")


def test_without_a_word_in_the_environment_nothing_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(failpoints.VARIABLE, raising=False)
    before = {target: find(target)[2] for target in TARGETS}
    failpoints.arm("worker")
    failpoints.arm("zygote")
    assert {target: find(target)[2] for target in TARGETS} == before


@pytest.mark.parametrize("text", ["nowhere=kill", "store.reap.before=sing", "store.reap.before", ""])
def test_what_names_no_place_or_no_action_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no failpoint"):
        Armed.read(text)


def test_it_fires_once_at_the_passing_that_was_meant(tmp_path: Path) -> None:
    said = _reap(tmp_path, "store.reap.before=raise@2", times=3)
    assert said == ["[]", "a failpoint has fired", "[]"]
    [fired] = failpoints.fired(tmp_path)
    assert fired.name == "store.reap.before"

    # Whoever comes next, with the same folder, finds that it has fired already.
    assert _reap(tmp_path, "store.reap.before=raise@2", times=3) == ["[]"] * 3


def test_it_may_fire_several_times_and_no_more(tmp_path: Path) -> None:
    told, done = "a failpoint has fired", "[]"
    assert _reap(tmp_path, "store.reap.before=raise@2*3", times=4) == [done, told, done, told]
    assert _reap(tmp_path, "store.reap.before=raise@2*3", times=4) == [done, told, done, done]
    assert [fired.name for fired in failpoints.fired(tmp_path)] == ["store.reap.before"] * 3


def test_what_a_zygote_rehearses_is_no_passing_of_a_child() -> None:
    """It does in vain what its children do, and must not die of what was meant for one of them."""
    real = Assignment(job=UUID(int=1), fence=1, attempt=1, definition="", version=1)
    rehearsed = msgspec.structs.replace(real, fence=0)
    for name in ("child.handler", "child.effect"):
        assert PLACES[name].counts((None, real))
        assert not PLACES[name].counts((None, rehearsed))


def test_a_process_that_is_killed_there_has_left_word(tmp_path: Path) -> None:
    assert _reap(tmp_path, "store.reap.after=kill", times=1, code=-9) == []
    assert [fired.name for fired in failpoints.fired(tmp_path)] == ["store.reap.after"]


def _reap(folder: Path, armed: str, *, times: int, code: int = 0) -> list[str]:
    """What a process says that reaps so many times, once it has ended with this code."""
    done = subprocess.run(
        [sys.executable, "-c", REAPS, str(folder / "jobs.db"), str(times)],
        cwd=ROOT,
        env={failpoints.VARIABLE: armed, failpoints.FIRED: str(folder), "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == code
    return done.stdout.splitlines()
