"""Messages that name jobs: they last as long as what they led to, and none is forgotten."""

from collections import defaultdict
from collections.abc import Iterator
from math import inf
from uuid import UUID

from chaos.casebook import Casebook, Finding
from chaos.messages.passages import Passage


def i52_message_outlives_attempt(book: Casebook) -> Iterator[Finding]:
    """I52: of the messages that led a worker to a job one is there until the outcome is on record."""
    for (_, job), passages in _by_worker_and_job(book).items():
        for led in (one for one in passages if one.kind == "led"):
            removed_at = _last_removed(passages, led)
            if removed_at == inf:
                continue
            steps = book.lives[job].claims() if job in book.lives else ()
            claim, end = next(
                ((claim, end) for claim, end in steps if claim.fence == led.fence), (None, None)
            )
            if claim is None or end is None or end.actor != claim.actor:
                yield (
                    job,
                    f"the message that led to fence {led.fence} was removed, and its owner did not end it",
                )
            elif book.time and book.time.latest(removed_at) < end.at - book.terms.fuzz:
                yield job, f"the message that led to fence {led.fence} was removed before the job {end.type}"


def i53_messages_are_answered(book: Casebook) -> Iterator[Finding]:
    """I53: at rest the queue is empty: each message has led to something, or was found to be of no use."""
    for left in book.evidence.leftovers.messages:
        yield None, f"messages are left: {left}"


INVARIANTS = (
    i52_message_outlives_attempt,
    i53_messages_are_answered,
)


def _by_worker_and_job(book: Casebook) -> dict[tuple[str, UUID], list[Passage]]:
    found = defaultdict(list)
    for passage in book.evidence.passages:
        found[passage.process, passage.job].append(passage)
    return found


def _last_removed(passages: list[Passage], led: Passage) -> float:
    """When the last of the messages was removed that the worker had for this claim; never, if one was not."""
    removed = {one.receipt: one.at for one in passages if one.kind == "removed"}
    had = [
        one.receipt
        for one in passages
        if one.kind == "got" and one.at <= led.at <= removed.get(one.receipt, inf)
    ]
    return max((removed.get(receipt, inf) for receipt in had), default=inf)
