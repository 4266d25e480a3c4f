"""What the machine kept somebody waiting for is measured, and is nobody else's excuse."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.machine import Machine, children, merged
from tests.until import until_sync

CROWD = 6
PATIENCE = 60.0


@pytest.fixture
def crowd() -> Iterator[list[int]]:
    """Processes that all want the same processor, all the time."""
    processor = min(os.sched_getaffinity(0))
    script = f"import os; os.sched_setaffinity(0, [{processor}])\nwhile True: pass"
    started = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(CROWD)]
    yield [one.pid for one in started]
    for one in started:
        one.kill()
        one.wait()


def test_who_waits_for_a_processor_is_starved_and_who_sleeps_is_not(crowd: list[int]) -> None:
    with subprocess.Popen(["sleep", str(2 * PATIENCE)]) as sleeper:
        until_sync(lambda: _is_asleep(sleeper.pid))  # to start it takes a processor
        machine, began = Machine(), time.monotonic()

        def are_starved() -> bool:
            machine.look([*crowd, sleeper.pid])
            return all(map(machine.starved, crowd))

        until_sync(are_starved)
        sleeper.kill()
    for pid in crowd:
        assert all(begin < end <= time.monotonic() for begin, end in machine.starved(pid))
        assert machine.starved(pid)[-1][1] > began
    assert machine.starved(sleeper.pid) == merged(machine.lags)


def test_everybody_waits_for_a_database_that_waits(crowd: list[int]) -> None:
    machine = Machine()

    def is_late() -> bool:
        machine.look([], serving=crowd)
        return bool(machine.lags)

    until_sync(is_late)
    assert machine.starved(os.getpid())
    assert set(crowd) <= set(children(os.getpid()))


def test_who_comes_too_late_himself_knows_that_everybody_was_kept_waiting() -> None:
    machine = Machine()
    machine.look([], late=0.01)
    assert machine.lags == []
    machine.look([], late=1.0)
    assert len(machine.lags) == 1
    assert machine.starved(os.getpid()) == machine.lags


def test_no_time_counts_twice() -> None:
    assert merged([(3.0, 4.0), (0.0, 2.0), (1.0, 2.5), (1.5, 1.6)]) == [(0.0, 2.5), (3.0, 4.0)]


def _is_asleep(pid: int) -> bool:
    comm, _, rest = Path(f"/proc/{pid}/stat").read_text().partition(") ")
    return comm.endswith("(sleep") and rest.startswith("S")
