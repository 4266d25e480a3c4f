"""What a handler asks about the progress of its job, and what its worker answers.

Questions and answers travel inside `DurableQuestion` and `DurableAnswer`: a process whose handler keeps
nothing never loads this module.
"""

import msgspec
from msgspec import Struct

from tenure.core.model.durable import StepDraft, StepKind, StepStatus


class Recall(Struct, frozen=True, tag=True):
    """Ask for all that the job has kept; the first question of an attempt, and once."""


class RecallOne(Struct, frozen=True, tag=True):
    """Ask for the whole result of one step; with `is_decided`, once no open transaction may still add it."""

    name: str
    is_decided: bool = False


class RecallSignal(Struct, frozen=True, tag=True):
    """Ask for the whole payload of one signal."""

    name: str


class Keep(Struct, frozen=True, tag=True):
    """Keep a step."""

    step: StepDraft


class Save(Struct, frozen=True, tag=True):
    """Replace the checkpoint by this JSON text."""

    body: str


class Forget(Struct, frozen=True, tag=True):
    """Remove finished steps whose names begin so, and replace the checkpoint, in one write."""

    prefix: str
    body: str | None = None


class RecalledStep(Struct, frozen=True, array_like=True):
    """A step that is kept. `size` is that of its result, which is absent if it is long or there is none."""

    name: str
    kind: StepKind
    status: StepStatus
    fence: int
    call: str = ""
    size: int | None = None
    body: str | None = None


class Recalled(Struct, frozen=True, tag=True):
    """The answer to `Recall`; the fields are those of `Recollection`."""

    steps: list[RecalledStep]
    checkpoint: str | None = None
    waits_over: frozenset[str] = frozenset()
    signals: dict[str, str] = {}
    long_signals: frozenset[str] = frozenset()


class RecalledOne(Struct, frozen=True, tag=True):
    """The answer to `RecallOne`; None if there is no such step."""

    step: RecalledStep | None


class RecalledSignal(Struct, frozen=True, tag=True):
    """The answer to `RecallSignal`; None if there is no such signal."""

    body: str | None


class Kept(Struct, frozen=True, tag=True):
    """It is on record."""


class KeepRefused(Struct, frozen=True, tag=True):
    """It is not on record: `why` is `differs` or `full`, as of `Keeping`."""

    why: str


Question = Recall | RecallOne | RecallSignal | Keep | Save | Forget
Answer = Recalled | RecalledOne | RecalledSignal | Kept | KeepRefused

QUESTION = msgspec.msgpack.Decoder(Question)
ANSWER = msgspec.msgpack.Decoder(Answer)

_encode = msgspec.msgpack.Encoder().encode


def packed(message: Question | Answer) -> bytes:
    """A question or an answer as it travels."""
    return _encode(message)
