"""No job waits while there is a slot and room: a claim that comes back short has left none that could start.

Jobs stand under many keys, some of them under a limit that all share as well, in more places than one claim
is offered and, on PostgreSQL, in more lines than one look passes through. The same store settles, hands back
and reaps, so that it knows of all the room there is.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from hypothesis.strategies import SearchStrategy

from tenure.core.model.states import OWNED, State
from tenure.storage.postgres.claims import freshness, line_scan, line_search
from tests.model.operator_requests import SetLimit
from tests.model.requests import LINES, Cancel, Enqueue, HandBack, Promote, Reap, Request, SettleAndClaim
from tests.model.store_and_model import Held, Side
from tests.model.test_stores import A_RUN
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend, SqliteBackend

KEYS = 30
LINES_A_LOOK = 7
_orders = st.sampled_from([["mail"], ["mail", "post"], list(LINES)])
_tenant = st.integers(1, KEYS).map(lambda key: ("tenant", f"t{key}", 2))
_limits = st.one_of(
    st.just(()),
    st.tuples(_tenant),
    st.tuples(_tenant),
    st.tuples(_tenant, st.just(("api", "", 5))),
    st.tuples(st.just(("api", "", 5))),
    st.tuples(st.just(("api", "", 5)), st.just(("disk", "", 3))),
)
_jobs: SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries(
        {"line": st.sampled_from(list(LINES)), "limits": _limits},
        optional={"priority": st.sampled_from([5, -5])},
    ),
    min_size=1,
    max_size=40,
)


def _owned(*, share: int) -> SearchStrategy[list[Held]]:
    """Some of the jobs that run: every so many of them."""

    def choose(machine: "Crowd") -> SearchStrategy[list[Held]]:
        running = machine.numbers_in(*OWNED)
        return st.integers(0, share - 1).map(lambda first: [Held(job, 0) for job in running[first::share]])

    return st.runner().flatmap(choose)


class Crowd(RuleBasedStateMachine):
    """A worker on each side, and many jobs to be served."""

    def __init__(
        self, run: Callable[[Coroutine[Any, Any, None]], None], sides: list[Side], *, are_equal: bool
    ) -> None:
        super().__init__()
        self._run = run
        self._sides = sides
        self._are_equal = are_equal
        self._run(self._all(Side.open))

    def teardown(self) -> None:
        self._run(self._all(Side.close))

    @rule(requested=_jobs)
    def enqueue(self, requested: list[dict[str, Any]]) -> None:
        same = {"priority": 0} if self._are_equal else {}
        self._ask(Enqueue([{**one, **same} for one in requested]))

    @rule(ended=_owned(share=3), lines=_orders, limit=st.integers(1, 12))
    def take_turns(self, ended: list[Held], lines: list[str], limit: int) -> None:
        reports = [(held, "succeeded" if held.job % 2 else "recoverable at once") for held in ended]
        self._ask(SettleAndClaim("a", reports, lines, limit, lease_for=30), lines, limit)

    @rule(ended=_owned(share=2))
    def settle(self, ended: list[Held]) -> None:
        """In a call that claims nothing, as one that names no lines."""
        reports = [(held, "unrecoverable") for held in ended]
        self._ask(SettleAndClaim("a", reports, [], limit=0, lease_for=30))

    @rule(lines=_orders, limit=st.integers(1, 12))
    def claim(self, lines: list[str], limit: int) -> None:
        self._ask(SettleAndClaim("a", [], lines, limit, lease_for=30), lines, limit)

    @rule(unstarted=_owned(share=4))
    def hand_back(self, unstarted: list[Held]) -> None:
        self._ask(HandBack("a", unstarted=unstarted, killed=[]))

    @rule(after=st.sampled_from([10, 30]))
    def reap_and_promote(self, after: int) -> None:
        self._ask(Reap(after, limit=100))
        self._ask(Promote(after=0, limit=100))

    @rule(name=st.sampled_from(["api", "tenant"]), size=st.sampled_from([1, 2, 6]))
    def set_limit(self, name: str, size: int) -> None:
        self._ask(SetLimit(name, size))

    @rule(first=st.integers(0, 4))
    def cancel(self, first: int) -> None:
        self._ask(Cancel(self.numbers_in(State.QUEUED, *OWNED)[first::5], reason=None))

    def numbers_in(self, *states: State) -> list[int]:
        """The jobs that are in one of the states on every side."""
        found = [
            {n for n, job in enumerate(side.numbered, 1) if side.model.jobs[job].state in states}
            for side in self._sides
        ]
        return sorted(set.intersection(*found))

    def _ask(self, request: Request, lines: list[str] | None = None, limit: int = 0) -> None:
        async def make(side: Side) -> None:
            answer = await request.make(side)
            if lines and isinstance(answer, list) and len(answer) < limit:
                left = side.model.claimable([LINES[name] for name in lines])
                numbers = [side.numbered.index(job.id) + 1 for job in left]
                side.compare("jobs that wait though there is a slot and room", numbers, [])

        self._run(self._all(make))

    async def _all(self, work: Callable[[Side], Coroutine[Any, Any, None]]) -> None:
        for error in filter(None, await asyncio.gather(*map(work, self._sides), return_exceptions=True)):
            raise error


@pytest.mark.timeout(600)  # it takes minutes to make a failure small
@pytest.mark.parametrize("look", ["at all lines", "part by part", "at few priorities"])
def test_no_job_waits_while_a_slot_is_free_and_its_limits_have_room(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    is_in_parts = look == "part by part"
    if is_in_parts:
        monkeypatch.setattr(line_scan, "MOST_REACHED", LINES_A_LOOK)
        monkeypatch.setattr(
            freshness, "FRESH_FOR", 0.0
        )  # it may last that long until all parts are seen again
        monkeypatch.setattr(freshness, "WORTH", 0)
    elif look == "at few priorities":
        monkeypatch.setattr(line_scan, "FRONT", 1)
        for module in (line_scan, line_search):
            monkeypatch.setattr(module, "FURTHER", 1)
    numbers = count()
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder, asyncio.Runner() as runner:

        def begin() -> Crowd:
            backends = (
                SqliteBackend(Path(folder) / f"{next(numbers)}.db"),
                PostgresBackend(postgres_server, "room"),
            )
            sides = [Side(backend, lambda _: None) for backend in backends]
            # A claim that reads a part of the lines does not know of urgent jobs in the others.
            return Crowd(runner.run, sides, are_equal=is_in_parts)

        run_state_machine_as_test(begin, settings=settings(A_RUN, max_examples=6, stateful_step_count=80))  # type: ignore[arg-type]
