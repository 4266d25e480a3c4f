"""Both stores do what the model does, whatever the requests and their order.

The machine makes the same requests on a real SQLite file and a real PostgreSQL database, each with a model of
its own beside it, and compares what can be seen after every request. A run that has not come by every step
and every refusal on each store fails too. ``TENURE_MODEL_EXAMPLES=200`` makes a long run, of other requests
each time. PostgreSQL is the newest here, and that of the suite in the contract tests.

A new verb of the stores is a method of `Model`, a kind of request with its place in `asking`, and a landmark
for each way in which it can be refused.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tenure.core.model.states import State
from tests.model import strategy
from tests.model.coverage import Visits
from tests.model.reads import read_to_the_end
from tests.model.requests import Request
from tests.model.store_and_model import Side
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend, SqliteBackend

EXAMPLES = os.environ.get("TENURE_MODEL_EXAMPLES")
# After the tenth example Hypothesis makes most by varying the last one: a few long ones see more.
A_RUN = settings(
    max_examples=10,
    stateful_step_count=150,
    deadline=None,
    database=None,
    derandomize=EXAMPLES is None,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ANOTHER_RUN = settings(A_RUN, derandomize=False, max_examples=2)
MORE_RUNS = 40
"""How many more runs, short ones, there may be until every landmark was reached."""


class Stores(RuleBasedStateMachine):
    """Requests, each made on every side."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, None]], None], sides: list[Side]) -> None:
        super().__init__()
        self._run = run
        self._sides = sides
        self._has_failed = False
        self._on_each_side(Side.open)

    def teardown(self) -> None:
        try:
            if not self._has_failed:
                self._on_each_side(Side.compare_all)
                self._on_each_side(read_to_the_end)
        finally:
            self._on_each_side(Side.close)

    @rule(request=strategy.requests)
    def ask(self, request: Request) -> None:
        async def make(side: Side) -> None:
            try:
                await request.make(side)
                await side.compare_jobs()
                await side.compare_lines()
            except AssertionError as error:
                error.add_note(f"on {side.backend.kind}")
                raise

        self._on_each_side(make)

    def numbers_in(self, *states: State) -> list[int]:
        """The jobs that are in one of the states, on whichever side."""
        found = {
            number
            for side in self._sides
            for number, job in enumerate(side.numbered, 1)
            if job in side.model.jobs and side.model.jobs[job].state in states
        }
        return sorted(found)

    def states(self) -> set[State]:
        """The states in which there are jobs, on whichever side."""
        return {job.state for side in self._sides for job in side.model.jobs.values()}

    def _on_each_side(self, work: Callable[[Side], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            # All to the end, so that nothing is still under way when the next example begins.
            ends = await asyncio.gather(*map(work, self._sides), return_exceptions=True)
            for error in filter(None, ends):
                self._has_failed = True
                raise error

        self._run(run())


@pytest.mark.timeout(0 if EXAMPLES else 600)  # it takes minutes to make a failure small
def test_both_stores_do_what_the_model_does(newest_postgres_server: PostgresServer) -> None:
    """S3.64: a store in PostgreSQL beside the one in SQLite, and nobody can tell them apart."""
    visits, numbers = Visits(), count()
    # In memory where the system has such a place: nothing here is about what survives a crash.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, asyncio.Runner() as runner:

        def begin() -> Stores:
            backends = (
                SqliteBackend(Path(folder) / f"{next(numbers)}.db"),
                PostgresBackend(newest_postgres_server),
            )
            return Stores(runner.run, [Side(backend, visits.of(backend.kind)) for backend in backends])

        for _ in range(0, int(EXAMPLES or 1), A_RUN.max_examples):
            run_state_machine_as_test(begin, settings=A_RUN)  # type: ignore[arg-type]
        # What a store chooses depends on the moment: the same requests may miss a rare landmark.
        for _ in range(MORE_RUNS):
            if visits.missed():
                run_state_machine_as_test(begin, settings=ANOTHER_RUN)  # type: ignore[arg-type]
    assert not visits.unmapped()
    assert not visits.missed(), visits.report()
