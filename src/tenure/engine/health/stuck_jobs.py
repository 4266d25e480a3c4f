"""Jobs that nothing moves on, and places under limits that nobody frees: read in portions, never changed."""

from collections import Counter
from uuid import UUID

from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.contract.store import Store
from tenure.storage.mapping.findings import Finding, LooseSlots

PORTIONS = 10
"""How many portions are read unless all are."""

MOST_NAMED = 20
"""How many of each kind are named; the rest is only counted."""

_KINDS = {"no_place": "no-place", "no_timer": "no-timer", "no_lease": "no-lease"}


async def find_stuck(store: Store, *, deep: bool, portion: int = LARGEST_BATCH) -> Checkup:
    """Look at the newest jobs, or with `deep` at all, `portion` at a time."""
    counts: Counter[str] = Counter()
    named: list[Symptom] = []
    looked, left = 0, PORTIONS
    before: UUID | None = None
    while left or deep:
        found = await store.inspect_jobs(before=before, limit=portion)
        for finding in found.findings:
            counts[finding.kind] += 1
            if counts[finding.kind] <= MOST_NAMED:
                named.append(_stuck(finding))
        looked, left, before = looked + found.jobs, max(left - 1, 0), found.next
        if before is None:
            break
    rest = [
        Symptom(kind=_KINDS[kind], what=f"and {count - MOST_NAMED:,} jobs more", cure="the same")
        for kind, count in counts.items()
        if count > MOST_NAMED
    ]
    scope = "all" if before is None else "the newest; --deep looks at all"
    loose = await store.loose_slots(limit=MOST_NAMED)
    return Checkup(
        facts=[
            Fact("looked at", f"{looked:,} jobs, {scope}"),
            *([Fact("stuck", f"{counts.total():,} jobs in all")] if deep else []),
        ],
        symptoms=[*named, *rest, *map(_loose, loose)],
    )


def _stuck(finding: Finding) -> Symptom:
    return Symptom(
        kind=_KINDS[finding.kind],
        what=f"job {finding.job}: {finding.problem}",
        since=finding.since,
        cure=finding.cure,
    )


def _loose(loose: LooseSlots) -> Symptom:
    places = "1 place" if loose.places == 1 else f"{loose.places:,} places"
    under = f"limit {loose.name}" + (f" with key {loose.key}" if loose.key else "")
    return Symptom(
        kind="slot-held",
        what=f"{places} under {under} held by no job that has a lease: so many fewer run than may",
        cure="put back jobs without a lease first, if there are any; then stop the workers and run: "
        f"{loose.cure}",
    )
