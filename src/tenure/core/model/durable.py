"""What a job has kept of its progress: steps, a checkpoint, what it waits for, and the signals sent to it.

All of it belongs to the job, not to an attempt: a later attempt finds what an earlier one kept, and a replay
begins without any. Whoever writes names a lease, and its fence stands beside what was written.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Lease
from tenure.core.model.retry import WaitAsked
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.values.bounds import HORIZON, printable, whole, within
from tenure.core.values.documents import NULL, Document

MOST_STEPS = 10_000
"""How many steps one job may keep."""

LARGEST_STEP = 256 * 1024
"""The most bytes of JSON that one step, a signal or a checkpoint may have."""

LARGEST_PROGRESS = 16 * 2**20
"""The most bytes of JSON that the steps of one job may have together."""

LONGEST_STEP_NAME = 200
"""The most bytes of the name of a step or a signal."""

SHORT_BODY = 4 * 1024
"""A recollection brings the results of steps up to this many bytes each; longer ones are asked for."""

SHORT_BODIES = 2 * 2**20
"""The most bytes of results that a recollection brings together."""

SHORT_SIGNALS = 256 * 1024
"""The most bytes of signals that a recollection brings together."""

MOST_SIGNALS = 1_000
"""How many signals one job may be sent."""

_UNFIT = frozenset("/#?")


class StepKind(StrEnum):
    """What a step is for."""

    STEP = "step"
    """A function whose result is kept; a crash before that runs it again."""

    ONCE = "once"
    """A function that was announced before it began, so that nobody runs it twice unknowingly."""

    TRANSACTION = "transaction"
    """A function whose writes committed together with the step."""

    SLEEP = "sleep"
    """A pause, which is over for good once its time has come."""

    WAIT = "wait"
    """A wait for a signal: its payload, or that the time ran out."""


class StepStatus(StrEnum):
    """How far a step has come."""

    INTENDED = "intended"
    """Its function may have begun: under an earlier lease than the present one, it is in doubt."""

    CLEARED = "cleared"
    """It was in doubt, and somebody has said that it did not happen: it may be intended again."""

    WAITING = "waiting"
    """A sleep or a wait that is not over yet."""

    DONE = "done"
    """Finished for good."""

    SKIPPED = "skipped"
    """It was in doubt, and the handler went on without knowing."""


class Keeping(StrEnum):
    """The answer to a step that is to be kept."""

    KEPT = "kept"
    """It is on record; also when the same step was there already, under the same fence."""

    LOST = "lost"
    """The lease does not hold: nothing was written."""

    DIFFERS = "differs"
    """Another step is kept under that name, or the same one under another fence: nothing was written."""

    FULL = "full"
    """The job has as many steps, or as many bytes of them, as it may: nothing was written."""


class WaitKind(StrEnum):
    """What ends a suspension."""

    TIME = "time"
    SIGNAL = "signal"
    ANSWER = "answer"
    """Somebody says whether an effect in doubt has happened."""


def turn_named(name: str, turn: int) -> str:
    """The name under which the n-th use of a name in one attempt is kept: `name`, `name#2`, `name#3` …"""
    return name if turn == 1 else f"{name}#{turn}"


def kept_named(field: str, value: str) -> None:
    """Refuse what cannot name a step on record, which `turn_named` has made of a step's name."""
    name, mark, turn = value.rpartition("#")
    step_named(field, name if mark and turn.isascii() and turn.isdecimal() else value)
    if len(value.encode()) > LONGEST_STEP_NAME:
        raise InvalidInput(field, f"has over {LONGEST_STEP_NAME} bytes", "give a shorter name")


def step_named(field: str, value: object) -> None:
    """Refuse what cannot name a step or a signal."""
    if not (isinstance(value, str) and value and value.isprintable()):
        remedy = f"give printable text of 1 to {LONGEST_STEP_NAME} bytes, such as 'fetch 7'"
        raise InvalidInput(field, f"is {value!r:.80}", remedy)
    if len(value.encode()) > LONGEST_STEP_NAME:
        raise InvalidInput(field, f"has over {LONGEST_STEP_NAME} bytes", "give a shorter name")
    if not _UNFIT.isdisjoint(value):
        raise InvalidInput(field, f"is {value!r:.80}, with one of / # ?", "leave these characters out")


class StepDraft(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step as a handler asks to keep it.

    `call` is a hash of the function's name and its arguments: a later attempt that finds another one under
    the same name has other code, or another order. A step that is `done` without a `body` is one whose result
    was refused: it will not run again, and has no result.
    """

    name: str
    kind: StepKind
    status: StepStatus
    call: str = ""
    body: Document | None = None

    def __post_init__(self) -> None:
        kept_named("name", self.name)
        printable("call", self.call)
        if self.body is not None and len(self.body.encode()) > LARGEST_STEP:
            raise InvalidInput("body", f"has over {LARGEST_STEP:,} bytes")


class KeptStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step on record. `size` is how many bytes its result has, None if there is none.

    `body` is None as well where a result was too long to be brought along. `until` is when a sleep or a wait
    ends by itself. `answered_by` is who has said whether an effect in doubt had happened.
    """

    name: str
    kind: StepKind
    status: StepStatus
    fence: int
    at: datetime
    call: str = ""
    size: int | None = None
    body: Document | None = None
    until: datetime | None = None
    answered_by: str | None = None


class Recollection(Struct, frozen=True):
    """What a job has kept so far, as the attempt under a lease finds it.

    `waits_over` names the sleeps and waits whose time has come, by the store's clock. Signals have their
    payloads; of those that are too long to be brought along, `long_signals` has the names.
    """

    steps: Sequence[KeptStep]
    checkpoint: Document | None = None
    waits_over: frozenset[str] = frozenset()
    signals: Mapping[str, Document] = {}
    long_signals: frozenset[str] = frozenset()


class Wait(Struct, frozen=True, kw_only=True):
    """What a job is suspended for, under the name of its step: a time, a signal or an answer.

    `timeout` is how long at most; None is without end, which a wait for a time cannot be. `signal` is the
    name that is waited for; `step` the name of the step that the wait is kept under.
    """

    kind: WaitKind
    step: str
    signal: str | None = None
    timeout: timedelta | None = None

    def __post_init__(self) -> None:
        kept_named("step", self.step)
        if (self.kind is WaitKind.SIGNAL) != (self.signal is not None):
            raise InvalidInput("signal", "belongs to a wait for a signal, and only to it")
        if self.signal is not None:
            step_named("signal", self.signal)
        if self.kind is WaitKind.TIME and self.timeout is None:
            raise InvalidInput("timeout", "is missing", "a wait for a time has an end")
        if self.timeout is not None:
            within("timeout", self.timeout, timedelta(0), HORIZON)


def wait_asked(asked: WaitAsked) -> Wait:
    """The wait that a handler asks for; raises ValueError for what is none."""
    return Wait(kind=WaitKind(asked.kind), step=asked.step, signal=asked.signal, timeout=asked.timeout)


class Suspension(Struct, frozen=True):
    """An attempt that gives its slot back until its wait is over, and what it used."""

    lease: Lease
    wait: Wait
    usage: Usage | None = None


class OpenWait(Struct, frozen=True, kw_only=True):
    """What a suspended job waits for, since when, and until when at most."""

    job: UUID
    kind: WaitKind
    step: str
    since: datetime
    signal: str | None = None
    until: datetime | None = None


class Signal(Struct, frozen=True, kw_only=True):
    """Something that a job is told from outside, under a name. The first one of a name stands."""

    name: str
    by: str
    body: Document = NULL

    def __post_init__(self) -> None:
        step_named("name", self.name)
        printable("by", self.by, least=1)
        if len(self.body.encode()) > LARGEST_STEP:
            raise InvalidInput("payload", f"has over {LARGEST_STEP:,} bytes")


class Delivered(StrEnum):
    """What became of a signal."""

    KEPT = "kept"
    """It is kept until the job waits for it."""

    RESUMED = "resumed"
    """The job waited for it, and is in line again."""

    REPEATED = "repeated"
    """The same signal was there already: nothing changed."""

    DIFFERS = "differs"
    """Another payload was sent under that name before, and that one stands."""

    FINISHED = "finished"
    """The job is in a final state: nothing was kept."""

    FULL = "full"
    """The job has as many signals as it may: nothing was kept."""


class Signalled(Struct, frozen=True):
    """The answer to a signal: what became of it, and the job's state after it."""

    delivered: Delivered
    state: State


class Verdict(StrEnum):
    """What became of an answer about an effect in doubt."""

    RESUMED = "resumed"
    """The job waited for it, and is in line again."""

    RECORDED = "recorded"
    """It is on record; the job did not wait for it."""

    REPEATED = "repeated"
    """The same answer was given before."""

    NOT_IN_DOUBT = "not-in-doubt"
    """There is no such effect, or it is not in doubt: nothing changed."""


class Answered(Struct, frozen=True):
    """The answer to an answer: what became of it, and the job's state after it."""

    verdict: Verdict
    state: State


class EffectAnswer(Struct, frozen=True, kw_only=True):
    """What somebody says about an effect in doubt: it happened, with this result, or it did not."""

    step: str
    happened: bool
    by: str
    result: Document = NULL

    def __post_init__(self) -> None:
        kept_named("step", self.step)
        printable("by", self.by, least=1)
        if len(self.result.encode()) > LARGEST_STEP:
            raise InvalidInput("result", f"has over {LARGEST_STEP:,} bytes")


class DoubtfulEffect(Struct, frozen=True, kw_only=True):
    """An effect that may or may not have happened, and its job."""

    job: UUID
    namespace: str
    definition: str
    queue: str
    state: State
    step: str
    since: datetime


class ProgressSummary(Struct, frozen=True, kw_only=True):
    """What operators see of a job's progress at a glance: how many steps, its wait, its effects in doubt."""

    steps: int = 0
    wait: OpenWait | None = None
    in_doubt: Sequence[DoubtfulEffect] = ()


class Forgotten(Struct, frozen=True):
    """How many steps were removed, and how many are left."""

    removed: int
    left: int

    def __post_init__(self) -> None:
        whole("removed", self.removed, 0, MOST_STEPS)
        whole("left", self.left, 0, MOST_STEPS)


Standings = Mapping[Lease, State]
"""The state that each accepted suspension led to; what is not in it was lost."""
