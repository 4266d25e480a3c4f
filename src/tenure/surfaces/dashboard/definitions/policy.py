"""The policy of a definition in rows: what holds, and whether the code says it or an operator has set it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from tenure.api.definition_views import Defined, parts_of
from tenure.core.model.lanes import LANES
from tenure.core.model.policy import OnLost
from tenure.core.reports.retention import RetentionPolicy
from tenure.surfaces.dashboard.formats import size, span


class PolicyRow(Struct, frozen=True):
    """A part of a policy; what is set here has what the code says."""

    name: str
    value: str
    is_set: bool = False
    code: str = ""


def rows(defined: Defined, sizes: Mapping[str, int], kept: RetentionPolicy | None) -> list[PolicyRow]:
    """The policy of one version. `sizes` are those of limits now; `kept` is how long jobs are kept."""
    said = defined.said()
    changed = parts_of(defined.override)

    def row(name: str, *parts: str, tell: Any) -> PolicyRow:
        now = {**said, **changed}
        is_set = any(part in changed for part in parts)
        code = tell(*(said[part] for part in parts)) if is_set else ""
        return PolicyRow(name, tell(*(now[part] for part in parts)), is_set, code)

    return [
        row("Attempts", "max-attempts", tell=lambda n: f"{n:g}"),
        row("Timeout", "timeout", "grace", tell=_timeout),
        row("Back-off", "retry-base", "retry-cap", tell=_backoff),
        *_limits(defined, sizes),
        row("Priority", "priority", tell=lambda n: f"{n:g}"),
        *_fixed(defined),
        *([] if kept is None else [_kept(kept, defined.spec.key)]),
    ]


def _timeout(timeout: float, grace: float) -> str:
    return f"{span(timeout)}, then {span(grace)} to stop" if grace else span(timeout)


def _backoff(base: float, cap: float) -> str:
    if not base:
        return "none" if not cap else f"up to {span(cap)}"
    return f"{span(base)}, doubling, up to {span(cap)}" if cap > base else span(base)


def _limits(defined: Defined, sizes: Mapping[str, int]) -> list[PolicyRow]:
    """Each limit that it comes under. A size that differs from the code's was set by an operator."""
    spec, found = defined.spec, []
    own = {limit.name for limit in spec.all_limits} - {limit.name for limit in spec.limits}
    for limit in spec.all_limits:
        now = sizes.get(limit.name, limit.size)
        each = f" for each {spec.concurrency_key}" if limit.name in own and spec.concurrency_key else ""
        name = "At once" if limit.name in own else f"At once, {limit.name}"
        code = f"{limit.size:,}" if now != limit.size else ""
        found.append(PolicyRow(name, f"{now:,} in the whole cluster{each}", bool(code), code))
    return found or [PolicyRow("At once", "any number")]


def _fixed(defined: Defined) -> list[PolicyRow]:
    spec = defined.spec
    lost = "buried: it must not run twice" if spec.policy.on_lost is OnLost.BURY else "tried again"
    optional = {
        "Memory": spec.memory and size(spec.memory),
        "CPU time": spec.cpu and span(timedelta(seconds=spec.cpu)),
        "Open files": spec.files and f"{spec.files:,}",
        "Tags": ", ".join(spec.tags),
        "Hooks": ", ".join(spec.hooks),
        "Never tried again": ", ".join(spec.policy.retry.fatal_on),
    }
    return [
        PolicyRow("When its worker is lost", lost),
        PolicyRow("Isolation", LANES[spec.lane].isolation if spec.lane in LANES else spec.lane),
        PolicyRow("Queue", spec.queue),
        *(PolicyRow(name, value) for name, value in optional.items() if value),
    ]


def _kept(policy: RetentionPolicy, key: str) -> PolicyRow:
    own, usual = policy.of(key), policy.for_all
    told = [f"{span(one.succeeded)}, failures {span(one.others)}" for one in (own, usual)]
    is_set = any(rule.definition == key and rule.is_own for rule in policy.rules)
    return PolicyRow("Kept after its end", told[0], is_set, f"{told[1]} for all others" if is_set else "")
