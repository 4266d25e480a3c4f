"""Why a job does not run yet: what is in its way, each with where to act, then what is not the reason."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.api.why_shapes import FullLimitItem, ObstacleItem, WhyItem
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.reports.why import WhyCode
from tenure.engine.phrases import counted
from tenure.surfaces.dashboard.pages.addresses import list_address
from tenure.surfaces.http.app.caller import Caller

_PLACES = {
    WhyCode.PAUSED_QUEUE: ("/ui/queues", "Queue"),
    WhyCode.PAUSED_DEFINITION: ("/ui/definitions", "Definition"),
    WhyCode.LIMIT_FULL: ("/ui/limits", "Limit"),
    WhyCode.UNSERVED_DEFINITION: ("/ui/workers", "Workers"),
    WhyCode.UNSERVED_QUEUE: ("/ui/workers", "Workers"),
    WhyCode.WORKERS_NOT_READY: ("/ui/workers", "Workers"),
    WhyCode.WORKERS_BUSY: ("/ui/workers", "Workers"),
    WhyCode.AWAITING_SIGNAL: ("#asks", "Send it"),
    WhyCode.IN_DOUBT: ("#asks", "Answer"),
}
"""Where to act, and what the button says."""

_BY_BUTTON = frozenset(
    {
        *(WhyCode.HELD, WhyCode.SCHEDULED, WhyCode.BACKING_OFF),
        *(WhyCode.AWAITING_SIGNAL, WhyCode.IN_DOUBT),
    }
)
"""The page has a button, or a link, for what their sentences name a command for."""

_COMMAND = re.compile(r"(?<=[.!?] )[^.`]*`tenure jobs .*$")
_PAUSED = frozenset({WhyCode.PAUSED_QUEUE, WhyCode.PAUSED_DEFINITION})
_BY_ITSELF = frozenset({WhyCode.SCHEDULED, WhyCode.BACKING_OFF, WhyCode.SLEEPING, WhyCode.IN_LINE})
_AFTER_THE_WAIT = frozenset({State.CREATED, State.SCHEDULED, State.RETRYING, State.SUSPENDED})


class Hindrance(Struct, frozen=True):
    """One thing in the way, or, with the tone `good`, one that is not: a sentence and what is to be done."""

    tone: str
    text: str
    remedy: str = ""
    since: datetime | None = None
    until: datetime | None = None
    href: str = ""
    action: str = ""
    jobs: Sequence[tuple[UUID, datetime]] = ()
    others: int = 0


def hindrances(why: WhyItem, job: Job, caller: Caller) -> list[Hindrance]:
    """What is in the way of a job that has not ended and does not run, in the order of importance."""
    return [*_in_the_way(why, job, caller), *_not_the_reason(why, job, caller)]


def _in_the_way(why: WhyItem, job: Job, caller: Caller) -> Iterator[Hindrance]:
    limits = iter(why.data.limits)
    told: Sequence[WhyItem | ObstacleItem] = (why, *why.data.also)
    for one in told:
        sentence = _COMMAND.sub("", one.sentence) if one.code in _BY_BUTTON else one.sentence
        text, remedy = _parted(sentence.strip())
        href, action = ("", "") if caller.is_namespaced else _PLACES.get(one.code, ("", ""))
        if one.code in {WhyCode.AWAITING_SIGNAL, WhyCode.IN_DOUBT}:
            href, action = _PLACES[one.code]
        if one.code is WhyCode.IN_LINE and why.data.ahead:
            href, action = (
                list_address(q=f"definition:{job.definition} queue:{job.queue}", status=[State.QUEUED]),
                "Show them",
            )
        full = next(limits, None) if one.code is WhyCode.LIMIT_FULL else None
        holders, others = _holders(full)
        if full is not None and one.sentence.startswith("The limit "):
            key = f" for {full.key}" if full.key else ""
            text = f"Limit {full.name}{key} is full: {full.held} of {full.size} jobs run under it."
            remedy = "It starts when one of them ends."
        yield Hindrance(_tone(one.code), text, remedy, one.since, one.until, href, action, holders, others)


def _holders(limit: FullLimitItem | None) -> tuple[Sequence[tuple[UUID, datetime]], int]:
    """The jobs that have run longest under a full limit, and how many others run."""
    if limit is None:
        return (), 0
    longest = sorted(limit.holders, key=lambda one: one.since)[:2]
    return [(one.job_id, one.since) for one in longest], limit.held - len(longest)


def _not_the_reason(why: WhyItem, job: Job, caller: Caller) -> Iterator[Hindrance]:
    codes = {why.code, *(one.code for one in why.data.also)}
    live = why.data.workers
    if live is None or not live.serving or WhyCode.STUCK in codes or WhyCode.ASIDE in codes:
        return
    rest = [] if codes & _PAUSED else ["nothing is paused"]
    if job.limits and WhyCode.LIMIT_FULL not in codes:
        rest.append("no limit is full")
    told = ", ".join(rest)
    small = f"{told[:1].upper()}{told[1:]}." if told else ""
    if not live.ready or (job.state is State.QUEUED and not live.free):
        if small:
            yield Hindrance("good", small)
        return
    serve = f"{counted(live.serving, 'worker')} {'serves' if live.serving == 1 else 'serve'} it"
    ready = "all ready" if live.ready == live.serving else f"{live.ready} ready"
    ready = "ready" if live.serving == 1 else ready
    free = "" if job.state in _AFTER_THE_WAIT else f", {counted(live.free, 'slot')} free"
    href, action = ("", "") if caller.is_namespaced else ("/ui/workers", "Workers")
    yield Hindrance("good", f"{serve}, {ready}{free}", small, href=href, action=action)


def _parted(sentence: str) -> tuple[str, str]:
    """The first sentence, and what follows: the way out."""
    first, dot, rest = sentence.partition(". ")
    return (f"{first}.", rest) if dot else (sentence, "")


def _tone(code: WhyCode) -> str:
    if code.needs_person:
        return "bad" if code in {WhyCode.ASIDE, WhyCode.STUCK, WhyCode.NOTHING_PROMOTES} else "warn"
    return "accent" if code in _BY_ITSELF else "warn"
