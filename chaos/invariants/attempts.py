"""Attempts: counted at the claim, bounded, started once each, and their effects applied once."""

from collections import Counter
from collections.abc import Iterator

from chaos.casebook import TAKERS, Casebook, Finding, Life
from tenure.core.model.job import Event, Job
from tenure.core.model.outcome import Ending
from tenure.core.values.bounds import MOST_HAND_BACKS


def i20_attempts_bounded(book: Casebook) -> Iterator[Finding]:
    """I20: no more attempts than the policy allows; whatever started is on record, under the same number."""
    for life in book.lives.values():
        most = life.job.policy.max_attempts if life.job else None
        if most is not None and (highest := max((step.attempt for step in life.steps), default=0)) > most:
            yield life.id, f"has come to attempt {highest} of {most}"
        for entry in life.entries:
            attempt = life.attempts.get(entry.fence)
            if life.job is not None and (attempt is None or attempt.number != entry.attempt):
                yield life.id, f"started as attempt {entry.attempt} under fence {entry.fence}: not on record"
        if life.job is not None and life.job.definition in book.terms.effects:
            yield from _worked(life)


def i21_charged_at_claim(book: Casebook) -> Iterator[Finding]:
    """I21: every claim takes the next number, only a clean return gives it back, and the last is the end."""
    for job, life in book.known():
        number = hand_backs = 0
        for step in life.steps:
            if step.type == "started":
                number += 1
                if step.attempt != number:
                    yield job.id, f"step {step.n}: claimed as attempt {step.attempt}, not {number}"
                    break
            elif step.type == "suspended" or (step.type == "handed_back" and hand_backs < MOST_HAND_BACKS):
                number -= 1
                hand_backs += step.type == "handed_back" and job.id not in book.progress
            elif (wrong := _wrongly_decided(job, life, step)) is not None:
                yield job.id, f"step {step.n}: {wrong}"


def i22_one_start_per_fence(book: Casebook) -> Iterator[Finding]:
    """I22: one claim starts the handler at most once, and it ends once."""
    for life in book.lives.values():
        lines = Counter((entry.fence, entry.kind) for entry in life.entries if entry.kind != "effect")
        for (fence, kind), times in lines.items():
            if times > 1:
                yield life.id, f"wrote its {kind} {times} times under fence {fence}"


def i24_fenced_effects_are_once(book: Casebook) -> Iterator[Finding]:
    """I24: who keeps the highest fence it has seen applies one effect: that of the good attempt."""
    for life in book.lives.values():
        effects = [entry.fence for entry in life.entries if entry.kind == "effect"]
        for fence, times in Counter(effects).items():
            if times > 1:
                yield life.id, f"had its effect {times} times under fence {fence}"
        good = _success(life)
        if good is None or life.job is None or life.job.definition not in book.terms.effects:
            continue
        if not effects or max(effects) != good:
            yield life.id, f"succeeded under fence {good}; the effect that counts is under {effects[-1:]}"


INVARIANTS = (
    i20_attempts_bounded,
    i21_charged_at_claim,
    i22_one_start_per_fence,
    i24_fenced_effects_are_once,
)


def _worked(life: Life) -> Iterator[Finding]:
    """What is on record as a success was really done, under that very fence."""
    good = _success(life)
    done = {entry.kind for entry in life.entries if entry.fence == good}
    if good is not None and not {"start", "end"} <= done:
        yield life.id, f"succeeded under fence {good}; of that attempt is written: {sorted(done)}"


def _success(life: Life) -> int | None:
    return next(
        (fence for fence, attempt in life.attempts.items() if attempt.ending is Ending.SUCCEEDED), None
    )


def _wrongly_decided(job: Job, life: Life, step: Event) -> str | None:
    """Whether attempts were said to be used up when they were not, or the reverse."""
    most = job.policy.max_attempts
    attempt = life.attempts.get(step.fence)
    if step.type in {"retrying", "orphaned"} and step.attempt >= most:
        return f"{step.type} after attempt {step.attempt} of {most}"
    is_for_want = step.actor in TAKERS or (attempt is not None and attempt.ending is Ending.RECOVERABLE)
    if step.type == "failed" and is_for_want and step.source is not None and step.source.is_owned:
        return None if step.attempt >= most else f"failed after attempt {step.attempt} of {most}"
    return None
