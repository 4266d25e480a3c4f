"""What a job has kept of its progress, over HTTP: its steps, what it waits for, and effects in doubt.

What is sent to a job from outside stands here as well: signals, and answers about effects.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.redaction import USUAL, Redaction
from tenure.core.model.durable import (
    LONGEST_STEP_NAME,
    DoubtfulEffect,
    KeptStep,
    OpenWait,
    StepKind,
    StepStatus,
    WaitKind,
)
from tenure.core.model.job import Job

LETTERS = r"(?:(?![/#?])[\p{L}\p{M}\p{N}\p{P}\p{S} ])+"
"""What names of steps and signals are made of, as a pattern."""


def _name(pattern: str) -> Meta:
    return Meta(min_length=1, max_length=LONGEST_STEP_NAME, extra_json_schema={"pattern": pattern})


StepName = Annotated[str, _name(f"^{LETTERS}$")]
"""The name of a step or a signal: printable, without / # ?, and 200 bytes at most."""

KeptName = Annotated[str, _name(f"^{LETTERS}(#[0-9]+)?$")]
"""The name of a step on record, which may count its uses in one attempt: `charge`, `charge#2`."""


class StepItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A step that a job has kept, under which attempt's fence, and since when it stands as it does.

    `size` is how many bytes of JSON its result has, null if it has none. `until` is when a sleep or a wait
    ends by itself. `inDoubt` says that its effect may or may not have happened, and `answeredBy` who has
    said which of the two.
    """

    name: str
    kind: StepKind
    status: StepStatus
    fence: int
    at: datetime
    until: datetime | None
    size: int | None
    result: Raw | None
    answered_by: str | None
    in_doubt: bool


class Steps(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of the steps of a job, in the order in which they were first kept."""

    items: Sequence[StepItem]
    next_cursor: str | None


class WaitItem(Struct, frozen=True, kw_only=True):
    """What a suspended job waits for: a time, a signal, or an answer about an effect in doubt.

    `step` is the step that the wait is kept under, or the effect. `until` is when it ends by itself; null if
    it does not.
    """

    kind: WaitKind
    step: str
    signal: str | None
    since: datetime
    until: datetime | None


class EffectItem(Struct, frozen=True, kw_only=True):
    """An effect in doubt: an attempt announced it, and nothing says whether it happened."""

    step: str
    since: datetime


class SignalBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the job is told; null if it is left out."""

    payload: Raw | UnsetType = UNSET


class EffectBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the effect has happened, and if so, with which result."""

    happened: bool
    result: Raw | UnsetType = UNSET


def step_item(step: KeptStep, job: Job, redaction: Redaction = USUAL) -> StepItem:
    """A step of a job."""
    return StepItem(
        name=step.name,
        kind=step.kind,
        status=step.status,
        fence=step.fence,
        at=step.at,
        until=step.until,
        size=step.size,
        result=None if step.body is None else Raw(redaction.document(step.body)),
        answered_by=step.answered_by,
        in_doubt=_is_in_doubt(step, job),
    )


def wait_item(wait: OpenWait) -> WaitItem:
    """What a job waits for."""
    return WaitItem(kind=wait.kind, step=wait.step, signal=wait.signal, since=wait.since, until=wait.until)


def effect_item(effect: DoubtfulEffect) -> EffectItem:
    """An effect in doubt."""
    return EffectItem(step=effect.step, since=effect.since)


def _is_in_doubt(step: KeptStep, job: Job) -> bool:
    is_under_way = job.state.is_owned and job.fence == step.fence
    return step.status is StepStatus.INTENDED and not is_under_way
