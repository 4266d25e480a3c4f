"""The bodies of the worker protocol about the progress that a job keeps."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.durable_shapes import LETTERS, KeptName
from tenure.api.lease_shapes import Token
from tenure.core.model.durable import KeptStep, Recollection, StepKind, StepStatus

AwaitedName = Annotated[
    str, Meta(min_length=1, max_length=195, extra_json_schema={"pattern": f"^{LETTERS}$"})
]
"""The name of a signal; with `wait:` before it, it names the step of the wait."""

_Pause = Annotated[float, Meta(ge=0, le=3652 * 86_400)]


class FoundStep(Struct, frozen=True, kw_only=True, rename="camel"):
    """A step that the job has kept. `isLong` says that its result is left out: ask for the step alone.

    `isOver` says that the time of a sleep or a wait has come.
    """

    name: str
    kind: StepKind
    status: StepStatus
    fence: int
    call: str
    result: Raw | None
    is_long: bool
    until: datetime | None
    is_over: bool


class FoundProgress(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the job has kept so far: its steps, its state, and the signals that it was sent, with payloads.

    Of signals that are too long to be brought along, `longSignals` has the names.
    """

    job_id: UUID
    steps: Sequence[FoundStep]
    state: Raw | None
    signals: Mapping[str, Raw]
    long_signals: Sequence[str]


class FoundSignal(Struct, frozen=True, kw_only=True):
    """A signal that the job was sent, and its payload."""

    name: str
    payload: Raw


class StepBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step to keep: mostly one that is done, with its result.

    An effect that must not run twice unknowingly is `once`: keep it as `intended` before it begins, then as
    `done`. `call` may be a hash of what is called, and stays with the step.
    """

    token: Token
    kind: Literal["step", "once", "sleep", "wait"] = "step"
    status: Literal["intended", "done", "skipped"] = "done"
    result: Raw | UnsetType = UNSET
    call: Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9._:-]*$")] = ""


class StepAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The step as it is kept now."""

    job_id: UUID
    name: str
    status: StepStatus


class StateBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state that a later attempt is to find; it replaces the one before."""

    token: Token
    state: Raw


class StateSaved(Struct, frozen=True, kw_only=True, rename="camel"):
    """The job whose state was saved."""

    job_id: UUID


class SuspendBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The job is to wait: for a time, or for a signal, with `timeoutSeconds` no longer than that.

    The wait is kept as a step of the given name. Without one, each pause is another step, and all waits for
    one signal are the same one, whose time runs from its beginning.
    """

    token: Token
    for_seconds: _Pause | UnsetType = UNSET
    signal: AwaitedName | UnsetType = UNSET
    timeout_seconds: _Pause | UnsetType = UNSET
    name: KeptName | UnsetType = UNSET


def recalled(job: UUID, found: Recollection) -> FoundProgress:
    """What a job has kept, for its worker."""
    return FoundProgress(
        job_id=job,
        steps=[recalled_step(step, is_over=step.name in found.waits_over) for step in found.steps],
        state=None if found.checkpoint is None else Raw(found.checkpoint),
        signals={name: Raw(payload) for name, payload in found.signals.items()},
        long_signals=sorted(found.long_signals),
    )


def recalled_step(step: KeptStep, *, is_over: bool = False) -> FoundStep:
    """One step, for its worker."""
    return FoundStep(
        name=step.name,
        kind=step.kind,
        status=step.status,
        fence=step.fence,
        call=step.call,
        result=None if step.body is None else Raw(step.body),
        is_long=step.body is None and step.size is not None,
        until=step.until,
        is_over=is_over,
    )
