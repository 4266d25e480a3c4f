"""Ownership: one owner at a time, under a fence that only grows, and nothing by anybody else."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from chaos.casebook import REAPER, TAKERS, Casebook, Finding, Life, in_seconds
from tenure.core.model.job import Event
from tenure.core.model.states import State


def i12_leases_do_not_overlap(book: Casebook) -> Iterator[Finding]:
    """I12: by the store's time, a job is claimed only after its last owner has left it."""
    for life in book.lives.values():
        for (one, left), (next_, _) in pairwise(life.claims()):
            if left is None:
                yield life.id, f"was claimed by {next_.actor} at {next_.at}; {one.actor} had not left it"
        held = sorted(life.attempts.values(), key=lambda attempt: (attempt.started_at, attempt.fence))
        for before, after in pairwise(held):
            if before.ended_at is None or after.started_at < before.ended_at:
                yield life.id, f"{before.worker} held it when {after.worker} claimed it at {after.started_at}"


def i13_fence_grows(book: Casebook) -> Iterator[Finding]:
    """I13: every claim of a job has a higher fence than the one before, and a fence has one owner."""
    owners: dict[int, str] = {}
    for life in book.lives.values():
        fence = 0
        for claim, _ in life.claims():
            if claim.fence <= fence:
                yield life.id, f"was claimed under fence {claim.fence} after fence {fence}"
            fence = max(fence, claim.fence)
            if owners.setdefault(claim.fence, claim.actor) != claim.actor:
                yield life.id, f"fence {fence} was given to {claim.actor} and to {owners[claim.fence]}"


def i14_stale_writes_change_nothing(book: Casebook) -> Iterator[Finding]:
    """I14: what is on record under a fence was done by its owner, and before the lease was over."""
    for job, life in book.known():
        claim: Event | None = None
        for event in life.events:
            if event.type == "started":
                claim = event
            elif not _is_owners(event):
                continue
            elif claim is None or event.fence != claim.fence:
                yield job.id, f"event {event.n} ({event.type}) is under fence {event.fence}, not the last one"
            elif event.actor != claim.actor:
                yield (
                    job.id,
                    f"event {event.n} ({event.type}) is {event.actor}'s; {claim.actor} owned the job",
                )
            elif (over := _ran_out(life, event)) is not None:
                yield job.id, f"event {event.n} ({event.type}) came after the lease was seen over at {over}"
        if job.result is not None and job.state is not State.SUCCEEDED:
            yield job.id, f"has a result and is {job.state}"
        if job.parent in book.lives and not _is_of_an_attempt(book, job.created_at, book.lives[job.parent]):
            yield job.id, f"was made by {job.parent} at {job.created_at}, which nobody owned then"


def i15_reaper_is_fenced_too(book: Casebook) -> Iterator[Finding]:
    """I15: nothing leaves an end; the reaper takes what is owned, by its fence, when its lease is over."""
    for life in book.lives.values():
        claim: Event | None = None
        begun_by = timedelta()
        for before, step in pairwise(life.steps):
            if before.target.is_final:
                yield life.id, f"step {step.n} by {step.actor} leads from {before.target} to {step.target}"
            if step.type == "started":
                # A claim is noted no earlier than the step before it, though its transaction may have begun.
                claim, begun_by = step, book.terms.frozen if step.at == before.at else timedelta()
            elif step.actor in TAKERS:
                yield from _reaped(book, life, claim, step, begun_by)


def i16_owners_never_repeat(book: Casebook) -> Iterator[Finding]:
    """I16: no two processes call themselves by the same name."""
    for worker, stays in book.stays.items():
        if len(stays) > 1:
            yield None, f"{worker} is the name of processes {', '.join(str(stay.pid) for stay in stays)}"


def i17_no_orphan_rests(book: Casebook) -> Iterator[Finding]:
    """I17: the dead own nothing for longer than their lease and the time to notice; no lease is left."""
    now, rescue = book.evidence.now, book.terms.rescue
    for job, _ in book.known():
        if not job.state.is_owned:
            continue
        if job.worker is None or job.lease_expires_at is None:
            yield job.id, f"is {job.state} and has no lease that could run out"
        elif job.lease_expires_at + rescue < now:
            yield (
                job.id,
                f"is {job.state}; its lease was over {in_seconds(now - job.lease_expires_at)} ago",
            )
    for lease in book.evidence.leftovers.leases if book.terms.quiet else ():
        yield None, f"a lease is left: {lease}"


def i19_self_fencing(book: Casebook) -> Iterator[Finding]:
    """I19: an attempt that lost its lease is stopped: it is not seen at work beside the next for long."""
    allowed = book.terms.overlap.total_seconds()
    for life in book.lives.values():
        starts = [(entry.fence, entry.at) for entry in life.entries if entry.kind == "start"]
        for entry in life.entries:
            later = min((at for fence, at in starts if fence > entry.fence), default=entry.at)
            late = entry.at - max(later, _thawed(book, life, entry.fence, later))
            if late > allowed:
                after = f"{late:.3f} s after a later attempt had started"
                yield life.id, f"process {entry.pid} under fence {entry.fence} wrote its {entry.kind} {after}"
                break


INVARIANTS = (
    i12_leases_do_not_overlap,
    i13_fence_grows,
    i14_stale_writes_change_nothing,
    i15_reaper_is_fenced_too,
    i16_owners_never_repeat,
    i17_no_orphan_rests,
    i19_self_fencing,
)


def _thawed(book: Casebook, life: Life, fence: int, at: float) -> float:
    """When an attempt that was frozen at some time, with all who could stop it, stood still no longer."""
    attempt = life.attempts.get(fence)
    stays = book.stays.get(attempt.worker, ()) if attempt else ()
    return max((end for stay in stays for begin, end in stay.frozen if begin <= at <= end), default=at)


def _reaped(
    book: Casebook, life: Life, claim: Event | None, step: Event, begun_by: timedelta
) -> Iterator[Finding]:
    if claim is None or step.source is None or not step.source.is_owned or step.fence != claim.fence:
        yield life.id, f"step {step.n}: the {step.actor} took it under fence {step.fence}, {step.source}"
        return
    if step.actor != REAPER:
        return  # the doctor takes what has no lease that could be over
    # On PostgreSQL a lease counts from the begin of its transaction, a claim from the job's last step on.
    if step.at < claim.at + book.terms.lease - book.terms.fuzz - begun_by:
        yield life.id, f"was reaped {in_seconds(step.at - claim.at)} after it was claimed"
    for sighting in life.sightings:
        expires = sighting.job.lease_expires_at
        if sighting.job.fence == step.fence and expires is not None and step.at < expires:
            yield life.id, f"was reaped at {step.at}; its lease was to hold until {expires}"
            break


def _is_owners(event: Event) -> bool:
    """Whether only the owner can have written this: an end, or a word from the attempt."""
    is_step_of_owner = event.source is not None and event.source.is_owned and event.type != "cancelling"
    return is_step_of_owner and event.actor not in TAKERS


def _ran_out(life: Life, event: Event) -> datetime | None:
    """When a job's lease was seen to be over, though not before this step; a lease is never revived."""
    if event.source is event.target:
        return None  # a note may be added when all is over
    return next(
        (
            sighting.at
            for sighting in life.sightings
            if sighting.job.fence == event.fence
            and sighting.job.lease_expires_at is not None
            and sighting.job.lease_expires_at <= sighting.at <= event.at
        ),
        None,
    )


def _is_of_an_attempt(book: Casebook, at: datetime, parent: Life) -> bool:
    if parent.job is None:
        return True
    slack = book.terms.overlap  # who waited for a lock has an earlier time than the one it waited for
    return any(
        attempt.started_at - slack <= at and (attempt.ended_at is None or at <= attempt.ended_at + slack)
        for attempt in parent.attempts.values()
    )
