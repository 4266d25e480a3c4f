"""Where a run of a crash matrix crashes: at one frame of one job, before or after the worker has taken it."""

from collections.abc import Callable
from enum import StrEnum
from itertools import count
from threading import Lock
from typing import NamedTuple

from tenure.core.model.durable import StepDraft, StepKind, StepStatus, WaitKind
from tenure.core.model.retry import HandlerReport, Raised, Returned, WaitAsked
from tenure.core.values.documents import NULL, Document
from tenure.execution.protocol.durable import QUESTION, Forget, Keep, Question, Save
from tenure.execution.protocol.messages import DurableQuestion, FromChild, ReportMessage, SpawnRequest


class Side(StrEnum):
    """Which side of a frame a crash is on."""

    BEFORE = "before"
    """The worker never got it: nothing is on record."""

    AFTER = "after"
    """It is on record, and the handler never heard of that."""


class CrashPoint(NamedTuple):
    """One frame by its number, and a side of it."""

    number: int
    side: Side


class SeenEffect(NamedTuple):
    """What is known about a function of `once`: whether it has run to its end, and its result."""

    happened: bool
    result: Document = NULL


class Crash:
    """One crash, and what leads to it; without a `point` it only counts the frames."""

    def __init__(self, point: CrashPoint | None, on_strike: Callable[[], object]) -> None:
        """`on_strike` is called at the moment of the crash."""
        self.frames: list[str] = []
        """What each frame was for, in their order, up to the crash."""
        self.has_struck = False
        self._point = point
        self._on_strike = on_strike
        self._numbers = count(1)
        self._counting = Lock()
        self._seen: dict[str, SeenEffect] = {}

    def meet(self, message: FromChild) -> Side | None:
        """Count a message of the handler; says on which side of it the process is to die."""
        question = QUESTION.decode(message.body) if isinstance(message, DurableQuestion) else None
        if self.has_struck or (what := _purpose(message, question)) is None:
            return None
        with self._counting:  # a handler may have several threads
            self.frames.append(what)
            number = next(self._numbers)
        side = self._point.side if self._point is not None and self._point.number == number else None
        if isinstance(question, Keep) and question.step.kind is StepKind.ONCE:
            self._watch(question.step, side)
        return side

    def strike(self) -> None:
        """Note that the process has died."""
        if not self.has_struck:
            self.has_struck = True
            self._on_strike()

    def seen(self, effect: str) -> SeenEffect | None:
        """Whether a function of `once` has run, as far as its frames tell."""
        return self._seen.get(effect)

    def _watch(self, step: StepDraft, side: Side | None) -> None:
        match step.status:
            case StepStatus.INTENDED if side is Side.AFTER:
                self._seen[step.name] = SeenEffect(happened=False)
            case StepStatus.DONE:
                self._seen[step.name] = SeenEffect(True, NULL if step.body is None else step.body)


def _purpose(message: FromChild, question: Question | None) -> str | None:
    """What a frame is for; None if it changes nothing that a later attempt would find."""
    match message, question:
        case _, Keep(step):
            return _step_named(step)
        case _, Save():
            return "checkpoint"
        case _, Forget(prefix):
            return f"forget {prefix}".rstrip()
        case SpawnRequest(jobs=jobs), _:
            more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
            return f"enqueue {jobs[0].definition}{more}" if jobs else None
        case ReportMessage(report), _:
            return _ending_named(report)
        case _:
            return None


def _step_named(step: StepDraft) -> str:
    match step.kind:
        case StepKind.SLEEP | StepKind.WAIT:
            return f"{step.name}: over"
        case StepKind.ONCE:
            return f"once {step.name}: {step.status}"
        case kind:
            return f"{kind} {step.name}"


def _ending_named(report: HandlerReport) -> str:
    match report:
        case Returned():
            return "returned"
        case Raised(asked=WaitAsked(kind=WaitKind.ANSWER, step=step)):
            return f"once {step}: asks whether it has happened"
        case Raised(asked=WaitAsked(step=step)):
            return f"{step}: begins"
        case Raised(error=error):
            return f"raised {error.kind}"
        case _:
            return "ran out of memory"
