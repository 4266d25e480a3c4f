"""Between what jobs keep of their progress and the columns that both stores have in common."""

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import (
    LARGEST_PROGRESS,
    LARGEST_STEP,
    MOST_STEPS,
    SHORT_BODIES,
    SHORT_BODY,
    SHORT_SIGNALS,
    Answered,
    Delivered,
    DoubtfulEffect,
    EffectAnswer,
    Forgotten,
    KeptStep,
    OpenWait,
    Recollection,
    Signal,
    Signalled,
    Standings,
    StepDraft,
    StepKind,
    StepStatus,
    Suspension,
    Verdict,
    WaitKind,
    step_named,
)
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.model.trail import CUSTOM
from tenure.core.values.bounds import LARGEST_BATCH, MOST_NOTES
from tenure.core.values.documents import Document
from tenure.storage.mapping.values import Row

IN_DOUBT = CUSTOM + "in_doubt"
"""The note of a job whose handler goes on with an effect that was in doubt."""

KEPT, LOCKED, RECORDED = "kept", "locked", Verdict.RECORDED.value
"""What statements answer: it is written; another transaction has locked its job; the answer is recorded."""

BOUNDS = {
    "most_steps": MOST_STEPS,
    "most_bytes": LARGEST_PROGRESS,
    "most_notes": MOST_NOTES,
    "note": IN_DOUBT,
}
"""What `keep_steps` is bounded by, and what it notes."""

SHORT = {"short": SHORT_BODY, "short_steps": SHORT_BODIES, "short_signals": SHORT_SIGNALS}
"""How much a recollection brings along."""

_KEPT_BY_HANDLERS = frozenset({StepStatus.INTENDED, StepStatus.DONE, StepStatus.SKIPPED})

Place = int
"""Where something stands in a call."""


def rounds(steps: Sequence[tuple[Lease, StepDraft]]) -> list[list[Place]]:
    """The steps of a call in the order to write them: a statement names no step twice."""
    _check_number("steps", steps)
    uses: dict[tuple[UUID, str], int] = {}
    ordered: list[list[Place]] = []
    for place, (lease, step) in enumerate(steps):
        if step.status not in _KEPT_BY_HANDLERS:
            raise InvalidInput("status", f"is {step.status}", "give intended, done or skipped")
        use = uses[lease.job, step.name] = uses.get((lease.job, step.name), -1) + 1
        if use == len(ordered):
            ordered.append([])
        ordered[use].append(place)
    return ordered


def last_checkpoints(checkpoints: Sequence[tuple[Lease, Document]]) -> dict[Lease, Document]:
    """The last checkpoint under each lease."""
    _check_number("checkpoints", checkpoints)
    for _, body in checkpoints:
        check_checkpoint(body)
    return dict(checkpoints)


def check_checkpoint(body: Document | None) -> None:
    """Refuse a checkpoint that is too large."""
    if body is not None and len(body.encode()) > LARGEST_STEP:
        raise InvalidInput("checkpoint", f"has over {LARGEST_STEP:,} bytes", "keep what is large elsewhere")


def check_prefix(prefix: str) -> None:
    """Refuse what no name of a step begins with."""
    if prefix:
        step_named("prefix", prefix)


def first_suspensions(suspensions: Sequence[Suspension]) -> list[Suspension]:
    """Suspensions by the order of jobs; of several for one lease the first counts."""
    _check_number("suspensions", suspensions)
    first: dict[Lease, Suspension] = {}
    for suspension in suspensions:
        first.setdefault(suspension.lease, suspension)
    return [first[lease] for lease in sorted(first)]


def answer_columns(answer: EffectAnswer) -> dict[str, object]:
    """What an answer makes of its step."""
    status = StepStatus.DONE if answer.happened else StepStatus.CLEARED
    body = answer.result if answer.happened else None
    return {"step": answer.step, "by": answer.by, "status": status.value, "body": body}


def recollection_from(rows: Iterable[Row]) -> Recollection | None:
    """The rows of `recall`; without any, the job is not held."""
    checkpoint: Document | None = None
    steps: list[KeptStep] = []
    over: set[str] = set()
    signals: dict[str, Document] = {}
    long_signals: set[str] = set()
    is_held = False
    for row in rows:
        match row["part"]:
            case "job":
                is_held, checkpoint = True, _document(row["body"])
            case "step":
                steps.append(step_from(row))
                if row["is_over"]:
                    over.add(row["name"])
            case _ if row["body"] is None:
                long_signals.add(row["name"])
            case _:
                signals[row["name"]] = Document(row["body"])
    if not is_held:
        return None
    return Recollection(steps, checkpoint, frozenset(over), signals, frozenset(long_signals))


def step_from(row: Row) -> KeptStep:
    """A row of `steps`."""
    return KeptStep(
        name=row["name"],
        kind=StepKind(row["kind"]),
        status=StepStatus(row["status"]),
        fence=row["fence"],
        at=row["at"],
        call=row["call"],
        size=row["size"],
        body=_document(row["body"]),
        until=row["until_at"],
        answered_by=row["answered_by"],
    )


def signal_from(row: Row) -> Signal:
    """A row of `signals`."""
    return Signal(name=row["name"], by=row["by"], body=Document(row["body"]))


def wait_from(row: Row) -> OpenWait:
    """A row of `open_waits`."""
    return OpenWait(
        job=row["job"],
        kind=WaitKind(row["kind"]),
        step=row["step"],
        since=row["at"],
        signal=row["signal"],
        until=row["due_at"],
    )


def effect_from(row: Row) -> DoubtfulEffect:
    """A row of `effects_in_doubt`."""
    return DoubtfulEffect(
        job=row["job"],
        namespace=row["namespace"],
        definition=row["definition"],
        queue=row["queue"],
        state=State(row["state"]),
        step=row["step"],
        since=row["at"],
    )


def forgotten_from(rows: Sequence[Row]) -> Forgotten | None:
    """The row of `forget_steps`; without one, the lease is lost."""
    return Forgotten(rows[0]["removed"], rows[0]["left_over"]) if rows else None


def standings_from(moved: Iterable[Row], roused: Iterable[Row]) -> Standings:
    """The rows of `suspend` and of `rouse` after it: the later one counts."""
    return {Lease(row["job"], row["fence"]): State(row["state"]) for row in (*moved, *roused)}


def signalled_from(kept: Sequence[Row], roused: Sequence[Row]) -> Signalled | None:
    """The rows of `signal` and of `rouse` after it."""
    if not kept:
        return None
    if roused:
        return Signalled(Delivered.RESUMED, State(roused[0]["state"]))
    return Signalled(Delivered(kept[0]["delivered"]), State(kept[0]["state"]))


def answered_from(told: Sequence[Row], roused: Sequence[Row]) -> Answered | None:
    """The rows of `answer` and of `rouse` after it."""
    if not told:
        return None
    if roused:
        return Answered(Verdict.RESUMED, State(roused[0]["state"]))
    return Answered(Verdict(told[0]["verdict"]), State(told[0]["state"]))


def _document(text: str | None) -> Document | None:
    return None if text is None else Document(text)


def _check_number(field: str, given: Collection[object]) -> None:
    if len(given) > LARGEST_BATCH:
        raise InvalidInput(
            field, f"has {len(given):,} entries in one call", f"give at most {LARGEST_BATCH:,}"
        )
