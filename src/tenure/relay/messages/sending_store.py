"""A store whose verbs that put jobs in line have messages sent for these jobs, after the commit.

Jobs that a caller records on a connection of its own (`draft`) are not among them: nobody here learns of that
commit.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, cast
from uuid import UUID

from tenure.core.model.durable import Answered, Delivered, Signalled, Standings, Verdict
from tenure.core.model.job import Enqueued, JobStanding, StepTaken
from tenure.core.model.outcome import Settled
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.storage.contract.store import Store

Queued = Callable[..., Iterable[UUID]]
"""The jobs that a verb has put in line, by its answer, and what it was asked."""


class SendsMessages(Protocol):
    """What has messages sent, at once or later."""

    def send(self, jobs: Iterable[UUID]) -> None:
        """Have messages sent for these jobs. Returns at once, and never fails."""


def sending(store: Store, sender: SendsMessages) -> Store:
    """The store, with a message for each job that a verb puts in line."""
    return cast("Store", _SendingStore(store, sender))


class _SendingStore:
    def __init__(self, store: Store, sender: SendsMessages) -> None:
        self._store = store
        self._sender = sender

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if name in QUEUED_BY:
            verb = partial(self._run, verb, QUEUED_BY[name])
        self.__dict__[name] = verb  # later lookups find it without `__getattr__`
        return verb

    async def _run(self, verb: Any, queued: Queued, /, *given: Any, **named: Any) -> Any:
        answer = await verb(*given, **named)
        self._sender.send(queued(answer, *given))
        return answer


def _enqueued(answer: object, *_: object) -> Iterable[UUID]:
    if isinstance(answer, list):  # otherwise nothing was recorded
        made: list[Enqueued] = answer
        return [one.id for one in made if one.fresh and one.state is State.QUEUED]
    return ()


def _fired(answer: list[list[Enqueued] | None], *_: object) -> Iterable[UUID]:
    return [job for made in answer for job in _enqueued(made)]


def _triggered(answer: Any, *_: object) -> Iterable[UUID]:
    return () if answer is None or answer.job is None else (answer.job,)


def _standing(answer: list[JobStanding] | JobStanding | None, *_: object) -> Iterable[UUID]:
    standings = answer if isinstance(answer, list) else [answer]
    return [one.job for one in standings if one is not None and one.moved and one.state is State.QUEUED]


def _moved(answer: list[StepTaken], *_: object) -> Iterable[UUID]:
    return [step.job for step in answer if step.target is State.QUEUED]


def _handed_back(answer: Settled, *_: object) -> Iterable[UUID]:
    return [lease.job for lease, state in answer.accepted.items() if state is State.QUEUED]


def _suspended(answer: Standings, *_: object) -> Iterable[UUID]:
    return [lease.job for lease, state in answer.items() if state is State.QUEUED]


def _told(answer: Signalled | None, job: UUID, *_: object) -> Iterable[UUID]:
    return [job] if answer is not None and answer.delivered is Delivered.RESUMED else []


def _answered(answer: Answered | None, job: UUID, *_: object) -> Iterable[UUID]:
    return [job] if answer is not None and answer.verdict is Verdict.RESUMED else []


def _replayed(answer: list[Replayed], *_: object) -> Iterable[UUID]:
    return [one.replay for one in answer if one.fresh and one.replay is not None]


QUEUED_BY: Mapping[str, Queued] = {
    verb.__name__: queued
    for verb, queued in (
        (Store.enqueue, _enqueued),
        (Store.enqueue_strictly, _enqueued),
        (Store.spawn, _enqueued),
        (Store.fire, _fired),
        (Store.trigger_schedule, _triggered),
        (Store.accept, _standing),
        (Store.put_back, _standing),
        (Store.replay, _replayed),
        (Store.promote, _moved),
        (Store.reap, _moved),
        (Store.hand_back, _handed_back),
        (Store.suspend, _suspended),
        (Store.signal, _told),
        (Store.answer, _answered),
        (Store.mend_place, _standing),
        (Store.mend_lease, _standing),
    )
}
"""The verbs that may put jobs in line, and how their answers name these."""
