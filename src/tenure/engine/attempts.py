"""All attempts in this worker's hands: those that run, and those that ended and wait to be settled.

A slot is free as soon as its attempt has ended; the outcome rides on the round trip that fills it again. An
attempt that was halted because its lease is gone leaves nothing behind; one that was halted for shutdown is
handed back.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import random
from typing import NamedTuple

from tenure.core.lease import Claimed, Lease
from tenure.core.outcome import Failure, Report
from tenure.core.retry import Crashed, decide
from tenure.core.signals import Announce, AttemptLost, AttemptStarted, Troubled
from tenure.core.spec import Spec
from tenure.core.trail import Trail, Usage
from tenure.engine.lane import Lane
from tenure.engine.manner import Hold
from tenure.engine.running import Running, Spawn
from tenure.execution.assignment import Assignment, Limits
from tenure.execution.halting import Ended, Halt
from tenure.execution.handler import AppFailed

FILES = 1024
"""How many files an attempt may have open unless its definition says otherwise."""

Specs = Mapping[tuple[str, int], Spec]
"""The definitions that a worker serves, by key and version."""


class Done(NamedTuple):
    """An attempt that has ended, and what is to be told of it."""

    running: Running
    report: Report


class Attempts:
    """Starts attempts in the lane and gathers how they end."""

    def __init__(
        self,
        lane: Lane,
        specs: Specs,
        spawn: Spawn,
        tasks: asyncio.TaskGroup,
        ended: Callable[[], None],
        announce: Announce,
    ) -> None:
        """`ended` is called whenever an attempt has ended."""
        self._lane = lane
        self._specs = specs
        self._spawn = spawn
        self._tasks = tasks
        self._ended = ended
        self._announce = announce
        self.running: dict[Lease, Running] = {}
        self.done: dict[Lease, Done] = {}
        self.killed: list[Lease] = []
        self.unstarted: list[Lease] = []
        """Claimed, and not to be run: given back at the next turn."""
        self.is_stuck = False
        """The lane can start nothing: whatever were claimed would only be given back."""
        self.idle = asyncio.Event()
        """Set while nothing runs."""
        self.idle.set()

    def start(self, claimed: Claimed, hold: Hold) -> None:
        """Run a job that was just claimed."""
        running = Running(claimed, hold, self._spawn)
        self.running[claimed.lease] = running
        self.idle.clear()
        self._announce(AttemptStarted(claimed))
        self._tasks.create_task(self._run(running))

    def held(self) -> list[Running]:
        """Everything under a lease of ours: what runs, and what has ended and is not settled."""
        return [*self.running.values(), *(done.running for done in self.done.values())]

    def halt(self, why: Halt) -> None:
        """Halt whatever runs."""
        for running in self.running.values():
            running.halting.ask(why)

    def trails(self) -> list[Trail]:
        """What attempts have said and nobody has recorded."""
        return [trail for running in self.held() if (trail := running.take_trail())]

    def put_back(self, trails: Sequence[Trail]) -> None:
        """Trails that could not be recorded, in the order in which they were said."""
        by_lease = {running.lease: running for running in self.held()}
        for trail in reversed(trails):
            if trail.lease in by_lease:
                by_lease[trail.lease].put_back(trail)

    async def _run(self, running: Running) -> None:
        claimed = running.claimed
        try:
            ended = await self._lane.run(
                assignment(claimed, self._specs[claimed.definition, claimed.version]),
                timeout=claimed.policy.timeout,
                grace=claimed.policy.grace,
                halt=running.halting,
                listener=running,
            )
        except AppFailed as error:
            self._give_back(running, error)
            return
        except Exception as error:  # our own failure to run it must not lose it, nor the worker
            problem = Failure(type(error).__name__, f"the attempt could not be run: {error}")
            ended = Ended(Crashed(problem), Usage())
        self._note(running, ended)
        self._leave(running)

    def _give_back(self, running: Running, error: AppFailed) -> None:
        """The app is broken, not the job."""
        self.is_stuck = True
        self.unstarted.append(running.lease)
        self._announce(Troubled("lane", str(error), 1))
        self._leave(running)

    def _leave(self, running: Running) -> None:
        del self.running[running.lease]
        if not self.running:
            self.idle.set()
        self._ended()

    def _note(self, running: Running, ended: Ended) -> None:
        claimed = running.claimed
        if ended.end is not None:
            outcome = decide(ended.end, claimed.attempt, claimed.policy.retry, random)
            report = Report(claimed.lease, outcome, ended.usage)
            self.done[claimed.lease] = Done(running, report)
        elif running.halting.asked is Halt.SHUTDOWN:
            self.killed.append(claimed.lease)
        else:
            self._announce(AttemptLost(claimed.lease, claimed.definition, fenced=True))


def assignment(claimed: Claimed, spec: Spec, **more: object) -> Assignment:
    """What a child is told of a claimed job."""
    fields = {
        "job": claimed.lease.job,
        "fence": claimed.lease.fence,
        "attempt": claimed.attempt,
        "definition": claimed.definition,
        "version": claimed.version,
        "queue": claimed.queue,
        "namespace": claimed.namespace,
        "params": claimed.params,
        "limits": Limits(
            memory=spec.memory, cpu=spec.cpu, files=spec.files or FILES, environment=spec.environment
        ),
    }
    return Assignment(**{**fields, **more})  # type: ignore[arg-type]
