"""What an attempt remembers of its job's steps, and under which names it asks for them."""

from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import (
    LARGEST_PROGRESS,
    MOST_STEPS,
    StepDraft,
    StepKind,
    StepStatus,
    kept_named,
    step_named,
    turn_named,
)
from tenure.core.model.step_errors import StepChanged, TooManySteps
from tenure.core.values.documents import Document, read
from tenure.execution.protocol.durable import Recalled, RecalledStep

FINISHED = frozenset({StepStatus.DONE, StepStatus.SKIPPED})


class StepMemory:
    """All that the job has kept: what the worker has recalled, and what this attempt has kept since."""

    def __init__(self, recalled: Recalled) -> None:
        self.steps = {step.name: step for step in recalled.steps}
        self.waits_over = recalled.waits_over
        self.signals = recalled.signals
        self.long_signals = recalled.long_signals
        self._size = sum(step.size or 0 for step in recalled.steps)
        self._begun: set[str] = set()
        self._state: dict[str, Any] | None = None
        self.checkpoint = None if recalled.checkpoint is None else Document(recalled.checkpoint)
        """The last one that an earlier attempt has kept."""

    @property
    def state(self) -> dict[str, Any]:
        """The checkpoint as the handler changes it."""
        if self._state is None:
            kept = {} if self.checkpoint is None else read(self.checkpoint)
            if not isinstance(kept, dict):
                problem = f"the checkpoint is no object but of type {type(kept).__name__}"
                raise StepChanged("state", f"cannot be read: {problem}")
            self._state = kept
        return self._state

    def found(self, name: str, kind: StepKind, call: str) -> RecalledStep | None:
        """The step that is kept under a name, if it is of this call; raises `StepChanged` if it is not."""
        if (step := self.steps.get(name)) is None:
            return None
        if step.kind is not kind:
            raise StepChanged(name, f"is kept as a {step.kind}, and is now a {kind}")
        if step.call != call and step.call:
            raise StepChanged(name, "was called with another function or with other arguments before")
        return step

    @contextmanager
    def room_for(self, name: str) -> Iterator[None]:
        """Take the place of a step that is to be kept; raises `TooManySteps` if there is none."""
        if name not in self.steps:
            if len(self.steps) + len(self._begun) >= MOST_STEPS:
                raise TooManySteps(name, MOST_STEPS)
            self._begun.add(name)
        try:
            yield
        finally:
            self._begun.discard(name)

    def has_room_for(self, body: str) -> bool:
        """Whether a result fits beside the others of the job."""
        return self._size + len(body.encode()) <= LARGEST_PROGRESS

    def is_finished(self, name: str) -> bool:
        """Whether a step of this name is on record and will not run again."""
        return (step := self.steps.get(name)) is not None and step.status in FINISHED

    def note(self, draft: StepDraft, fence: int) -> None:
        """Remember a step that is now kept, without its result: nobody asks for that twice."""
        self._begun.discard(draft.name)
        size = None if draft.body is None else len(draft.body.encode())
        before = self.steps.get(draft.name)
        self._size += (size or 0) - (before.size or 0 if before else 0)
        self.steps[draft.name] = RecalledStep(draft.name, draft.kind, draft.status, fence, draft.call, size)

    def forget(self, prefix: str) -> list[str]:
        """Forget finished steps whose names begin so; returns their names."""
        gone = [
            name for name, step in self.steps.items() if name.startswith(prefix) and step.status in FINISHED
        ]
        for name in gone:
            self._size -= self.steps.pop(name).size or 0
        self.waits_over -= frozenset(gone)  # the next sleep of that name is another one
        return gone


class StepNames:
    """Counts how often an attempt uses each name: the n-th use means the n-th use in every attempt.

    A use that raised and left nothing finished is open. The same call under its name is that use once more:
    a handler that tries a step again keeps it under the name by which later attempts look for it, and comes
    upon an effect that it has begun.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._turns: dict[str, int] = {}
        self._open: dict[tuple[str, str], list[int]] = {}
        self._under_way: set[str] = set()

    @contextmanager
    def used(self, name: str, call: str, memory: StepMemory, *, is_repeatable: bool = True) -> Iterator[str]:
        """The name to keep a step under, which no other may use meanwhile; `call` is a hash of its call."""
        step_named("name", name)
        with self._lock:
            turn = self._turn(name, call, is_repeatable=is_repeatable)
            kept = turn_named(name, turn)
            kept_named("name", kept)
            self._turns[name] = max(turn, self._turns.get(name, 0))
            self._under_way.add(name)
        is_over = False
        try:
            yield kept
            is_over = True
        finally:
            with self._lock:
                self._under_way.discard(name)
                if is_repeatable and not is_over and not memory.is_finished(kept):
                    self._open.setdefault((name, call), []).append(turn)

    def forget(self, prefix: str) -> None:
        """Count names that begin so anew: their steps are forgotten, here and for later attempts."""
        with self._lock:
            busy = [name for name in self._under_way if name.startswith(prefix)]
            if busy:
                raise InvalidInput(
                    "prefix",
                    f"is that of {busy[0]!r}, which is under way",
                    "forget steps once they have ended",
                )
            for name in [name for name in self._turns if name.startswith(prefix)]:
                del self._turns[name]
            for use in [use for use in self._open if use[0].startswith(prefix)]:
                del self._open[use]

    def _turn(self, name: str, call: str, *, is_repeatable: bool) -> int:
        """Which use of the name this is; refuses one that could not be told from another."""
        if name in self._under_way:
            raise InvalidInput(
                "name",
                f"{name!r} is in use by a step that is under way: later, nobody could tell the two apart",
                "name each by its item, such as f'fetch {page}'",
            )
        if turns := self._open.get((name, call)):
            return turns.pop(0)
        turn = self._turns.get(name, 0) + 1
        if turn > 1 and not is_repeatable:
            raise InvalidInput(
                "name",
                f"{name!r} was waited for before, and the first signal of a name stands",
                "name each wait by its turn, such as 'approved 2'",
            )
        return turn
