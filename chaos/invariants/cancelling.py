"""Cancelling: wins before a claim, ends what runs, and has one effect however often it is asked for."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

from chaos.casebook import TAKERS, Casebook, Finding, Life, in_seconds
from tenure.core.model.job import Event
from tenure.core.model.states import State


def i25_cancel_before_claim_wins(book: Casebook) -> Iterator[Finding]:
    """I25: a job that was cancelled while nobody owned it is not started any more."""
    acknowledged: dict[UUID, float] = {}
    for call in book.evidence.history:
        if call.verb == "cancel" and call.outcome == "acknowledged" and call.answered_at is not None:
            for job in call.moved:
                acknowledged.setdefault(job, call.answered_at)
    for life in book.lives.values():
        cancel = next((step for step in life.steps if _is_before_claim(step)), None)
        if cancel is None:
            continue
        for entry in life.entries:
            if entry.kind == "start" and entry.fence > cancel.fence:
                yield life.id, f"was cancelled in step {cancel.n}, and started under fence {entry.fence}"
            elif entry.kind == "start" and _is_after(book, entry.at, cancel, acknowledged.get(life.id)):
                yield life.id, f"was cancelled at {cancel.at}, and started later"


def i26_cancel_of_running_ends(book: Casebook) -> Iterator[Finding]:
    """I26: what is asked to stop ends within its grace and a little, and does nothing afterwards."""
    for job, life in book.known():
        for asked, left in pairwise(life.steps):
            if asked.target is not State.CANCELLING:
                continue
            if not left.target.is_final:
                yield job.id, f"was asked to stop and is {left.target} again"
            allowed = job.policy.grace + book.terms.stopping + _kept_from_it(book, life, asked, left)
            if left.at - asked.at > allowed:
                yield job.id, f"ended {in_seconds(left.at - asked.at)} after it was asked to stop"
        last = life.steps[-1] if life.steps else None
        if last is not None and last.target is State.CANCELLING:
            since, allowed = book.evidence.now - last.at, job.policy.grace + book.terms.stopping
            if book.terms.quiet and since > allowed + book.terms.lease:
                yield job.id, f"was asked to stop {in_seconds(since)} ago"
        yield from _worked_on(book, life, last)


def i27_cancel_and_replay_are_idempotent(book: Casebook) -> Iterator[Finding]:
    """I27: asked for many times, a cancellation happens once, and a replay is under way once."""
    claims = Counter(
        job
        for call in book.evidence.history
        if call.verb == "cancel" and call.outcome == "acknowledged"
        for job in set(call.moved)
    )
    for id_, times in claims.items():
        if times > 1:
            yield id_, f"{times} cancellations were told that theirs was the one"
    for life in book.lives.values():
        asked = Counter(step.type for step in life.steps)
        if max(asked["cancelling"], asked["cancelled"]) > 1:
            yield (
                life.id,
                f"was asked to stop {asked['cancelling']} times, cancelled {asked['cancelled']} times",
            )
    replays: dict[UUID, list[tuple[datetime, UUID, datetime]]] = {}
    for job, _ in book.known():
        if job.replay_of is not None:
            ended = job.finished_at or book.evidence.now
            replays.setdefault(job.replay_of, []).append((job.created_at, job.id, ended))
    for source, again in replays.items():
        for (_, first, ended), (made, second, _) in pairwise(sorted(again)):
            if made < ended:
                yield second, f"replays {source}, as did {first}, which had not ended"


INVARIANTS = (
    i25_cancel_before_claim_wins,
    i26_cancel_of_running_ends,
    i27_cancel_and_replay_are_idempotent,
)


def _is_before_claim(step: Event) -> bool:
    return step.target is State.CANCELLED and step.source is not None and not step.source.is_owned


def _is_after(book: Casebook, at: float, cancel: Event, answered: float | None) -> bool:
    """Whether a start under an older fence came so late that its owner had not stopped itself either."""
    slack = book.terms.overlap
    if answered is not None:
        return at > answered + slack.total_seconds()
    return bool(book.time) and book.time.earliest(at) > cancel.at + slack


def _kept_from_it(book: Casebook, life: Life, asked: Event, left: Event) -> timedelta:
    """For how long nobody could have ended the job: its worker was dead or held up, or the store away."""
    away = sum(outage.ended - outage.began for outage in book.outages_between(asked.at, left.at))
    kept = timedelta(seconds=away)
    attempt = life.attempts.get(asked.fence)
    stays = book.stays.get(attempt.worker, []) if attempt and book.time else []
    if left.actor in TAKERS:
        kept += book.terms.lease + book.terms.rescue
    elif any(book.is_held_up(stay, asked.at, left.at) for stay in stays):
        kept += book.terms.lease  # who hears nothing for longer has lost the job
    return kept + max((book.starved(stay, asked.at, left.at) for stay in stays), default=timedelta(0))


def _worked_on(book: Casebook, life: Life, last: Event | None) -> Iterator[Finding]:
    """A job that its own worker has ended writes nothing more: its processes are gone before that is said."""
    if last is None or last.target is not State.CANCELLED or last.actor in TAKERS or not book.time:
        return
    if last.source is not State.CANCELLING:
        return
    for entry in life.entries:
        if entry.fence == last.fence and book.time.earliest(entry.at) > last.at + book.terms.fuzz:
            yield life.id, f"was cancelled at {last.at}; process {entry.pid} wrote its {entry.kind} later"
