"""What the handler of a unit test keeps of its progress, in memory, in place of a worker and its store."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tenure.core.errors import TenureError
from tenure.core.model.durable import StepDraft, StepStatus, WaitKind, step_named
from tenure.core.model.retry import WaitAsked
from tenure.core.values.documents import Document, read, write
from tenure.execution.handler.durable_calls import DurableCalls
from tenure.execution.handler.step_memory import FINISHED
from tenure.execution.protocol.durable import (
    Answer,
    Forget,
    Keep,
    Kept,
    Question,
    Recalled,
    RecalledOne,
    RecalledSignal,
    RecalledStep,
    RecallOne,
    RecallSignal,
    Save,
)


class KeptProgress:
    """Steps, checkpoint and signals of one made-up job."""

    def __init__(self, state: Mapping[str, Any] | None, signals: Mapping[str, Any] | None) -> None:
        self.steps: dict[str, StepDraft] = {}
        self.checkpoint: Document | None = None if state is None else write(dict(state))
        self.slept: list[timedelta] = []
        self._signals = {name: write(payload) for name, payload in (signals or {}).items()}
        for name in self._signals:
            step_named("signals", name)

    @property
    def results(self) -> dict[str, Any]:
        """The results of steps that are done."""
        done = {name: step.body for name, step in self.steps.items() if step.status is StepStatus.DONE}
        return {name: None if body is None else read(body) for name, body in done.items()}

    @property
    def state(self) -> Any:
        """The last checkpoint."""
        return None if self.checkpoint is None else read(self.checkpoint)

    def answer(self, question: Question) -> Answer:
        """Answer as a worker does."""
        match question:
            case Keep(step):
                self.steps[step.name] = step
            case Save(body):
                self.checkpoint = Document(body)
            case Forget(prefix, body):
                self.steps = {
                    name: one
                    for name, one in self.steps.items()
                    if one.status not in FINISHED or not name.startswith(prefix)
                }
                self.checkpoint = None if body is None else Document(body)
            case RecallOne(name):
                return RecalledOne(_recalled(self.steps[name]) if name in self.steps else None)
            case RecallSignal(name):
                return RecalledSignal(self._signals.get(name))
            case _:
                steps = [_recalled(step) for step in self.steps.values()]
                signals = {name: str(payload) for name, payload in self._signals.items()}
                return Recalled(steps, self.checkpoint, signals=signals)
        return Kept()


class RecordedCalls(DurableCalls):
    """The durable calls of a unit test: no time passes in a sleep, and what never comes is said at once."""

    kept: KeptProgress

    def _suspend(self, asked: WaitAsked) -> None:
        match asked:
            case WaitAsked(WaitKind.TIME, timeout=timedelta() as length):
                self.kept.slept.append(length)
            case WaitAsked(WaitKind.SIGNAL, signal=signal, timeout=None):
                raise TenureError(
                    f"no signal {signal!r} would ever come: make the context with signals={{{signal!r}: …}}"
                )
            case WaitAsked(WaitKind.SIGNAL, signal=signal):
                raise TimeoutError(f"no signal {signal!r} came in time")
            case _:
                raise TenureError(f"nobody would say whether {asked.step!r} has happened")


def _recalled(step: StepDraft) -> RecalledStep:
    size = None if step.body is None else len(step.body.encode())
    return RecalledStep(step.name, step.kind, step.status, 1, step.call, size, step.body)
