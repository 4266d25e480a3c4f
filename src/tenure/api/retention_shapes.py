"""How long finished jobs are kept, as it is sent: bodies and answers, and times as people write them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct, field

from tenure.core.model.states import State
from tenure.core.reports.retention import PARTS, Retention, RetentionPolicy, RetentionRule
from tenure.core.values.bounds import HORIZON

Kept = Annotated[float, Meta(ge=0, le=HORIZON.total_seconds())]
FIELDS = {
    "succeeded": "succeededSeconds",
    "others": "othersSeconds",
    "keyed": "keyedSeconds",
    "logs": "logSeconds",
}
"""The names of the parts of retention in bodies."""

_UNITS = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("m", timedelta(minutes=1)))


class RetentionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How long finished jobs are kept after their end. What is null or left out is as for all definitions.

    Jobs with an idempotency key are kept for `keyedSeconds` at least. With 0, jobs go within ten minutes.
    Times are rounded to the millisecond.
    """

    succeeded_seconds: Kept | None = None
    others_seconds: Kept | None = None
    keyed_seconds: Kept | None = None
    log_seconds: Kept | None = None


class RetentionForAllBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How long finished jobs are kept after their end. Only `logSeconds` may be null or left out.

    Log lines then go with their job. Jobs with an idempotency key are kept for `keyedSeconds` at least. With
    0, jobs go within ten minutes. Times are rounded to the millisecond.
    """

    succeeded_seconds: Kept
    others_seconds: Kept
    keyed_seconds: Kept
    log_seconds: Kept | None = None


class RetentionTrialBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Times to try for one definition or, without `definitionKey`, for all.

    What is null or left out stays as it is set.
    """

    definition_key: str | None = None
    succeeded_seconds: Kept | None = None
    others_seconds: Kept | None = None
    keyed_seconds: Kept | None = None
    log_seconds: Kept | None = None


class RetentionTimes(Struct, frozen=True, kw_only=True, rename="camel"):
    """Times in force; without `logSeconds`, log lines go with their job."""

    succeeded_seconds: float
    others_seconds: float
    keyed_seconds: float
    log_seconds: float | None


class RetentionItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is set for one definition, by whom and when, and what is in force for it.

    For all definitions, `definitionKey` is null. Parts of `set` that are null are as for all.
    """

    definition_key: str | None
    set: RetentionBody
    in_force: RetentionTimes
    by: str | None
    at: datetime | None


class RetentionView(Struct, frozen=True, kw_only=True):
    """How long jobs are kept: for all definitions, and for those with times of their own."""

    for_all: RetentionItem = field(name="all")
    definitions: Sequence[RetentionItem]


class RemovedCount(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many jobs of one definition and state."""

    definition_key: str
    status: State
    jobs: int


class RemovedItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a walk removed or, in a dry run, would remove. `logLines` go before their jobs.

    Unless `complete`, the time was over before all jobs were looked at: it is so much at least.
    """

    jobs: int
    log_lines: int
    dry_run: bool
    complete: bool = True
    counts: Sequence[RemovedCount]


def view(policy: RetentionPolicy) -> RetentionView:
    """All that is set."""
    return RetentionView(
        for_all=_item(None, policy.usual, policy.for_all),
        definitions=[_item(rule.definition, rule, policy.of(rule.definition)) for rule in policy.rules],
    )


def item_of(policy: RetentionPolicy, definition: str) -> RetentionItem:
    """What is set for one definition, if anything, or with no name for all."""
    if not definition:
        return view(policy).for_all
    rule = next((rule for rule in policy.rules if rule.definition == definition), None)
    return _item(definition, rule, policy.of(definition))


def change_of(body: RetentionBody | RetentionForAllBody | RetentionTrialBody) -> dict[str, timedelta | None]:
    """Every part, as the body sets it. What is finer than a millisecond is rounded, as floats are inexact."""
    given = (body.succeeded_seconds, body.others_seconds, body.keyed_seconds, body.log_seconds)
    return {
        part: None if value is None else timedelta(milliseconds=round(value * 1000))
        for part, value in zip(PARTS, given, strict=True)
    }


def removed_item(
    counts: Mapping[tuple[str, State], int], log_lines: int, *, dry: bool, complete: bool = True
) -> RemovedItem:
    """What a walk removed, or would: jobs by definition and state, and log lines."""
    return RemovedItem(
        jobs=sum(counts.values()),
        log_lines=log_lines,
        dry_run=dry,
        complete=complete,
        counts=[
            RemovedCount(definition_key=definition, status=state, jobs=n)
            for (definition, state), n in sorted(counts.items())
        ],
    )


def written(time: timedelta | None) -> str:
    """A time as people write it: in the largest unit of which it is a whole number."""
    if time is None:
        return ""
    for name, unit in _UNITS:
        if time and not time % unit:
            return f"{time // unit}{name}"
    return f"{time.total_seconds():.3f}".rstrip("0").rstrip(".") + "s"


def _item(key: str | None, rule: RetentionRule | None, in_force: Retention) -> RetentionItem:
    return RetentionItem(
        definition_key=key,
        set=RetentionBody() if rule is None else _body(rule),
        in_force=RetentionTimes(
            succeeded_seconds=in_force.succeeded.total_seconds(),
            others_seconds=in_force.others.total_seconds(),
            keyed_seconds=in_force.keyed.total_seconds(),
            log_seconds=_seconds(in_force.logs),
        ),
        by=None if rule is None else rule.by,
        at=None if rule is None else rule.at,
    )


def _body(rule: RetentionRule) -> RetentionBody:
    return RetentionBody(
        succeeded_seconds=_seconds(rule.succeeded),
        others_seconds=_seconds(rule.others),
        keyed_seconds=_seconds(rule.keyed),
        log_seconds=_seconds(rule.logs),
    )


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()
