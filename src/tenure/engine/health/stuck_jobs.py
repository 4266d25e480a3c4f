"""Jobs that nothing moves on, and places under limits that nobody frees: read in portions."""

from collections import Counter
from collections.abc import AsyncIterator
from uuid import UUID

from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.contract.store import Store
from tenure.storage.mapping.findings import MENDED_BY, Finding, LooseSlots, Portion

PORTIONS = 10
"""How many portions are read unless all are."""

MOST_NAMED = 20
"""How many of each kind are named; the rest is only counted."""

KINDS = {"no_place": "no-place", "no_timer": "no-timer", "no_lease": "no-lease"}
SLOT_HELD = "slot-held"
MENDABLE = frozenset({*KINDS.values(), SLOT_HELD})
"""The kinds of symptoms that the store can mend."""


async def portions(store: Store, *, deep: bool, size: int = LARGEST_BATCH) -> AsyncIterator[Portion]:
    """The jobs that are stuck among the newest jobs, or with `deep` among all, a portion at a time."""
    left = PORTIONS
    before: UUID | None = None
    while left or deep:
        found = await store.inspect_jobs(before=before, limit=size)
        yield found
        left, before = max(left - 1, 0), found.next
        if before is None:
            break


async def find_stuck(store: Store, *, deep: bool, portion: int = LARGEST_BATCH) -> Checkup:
    """Look at the newest jobs, or with `deep` at all, `portion` at a time."""
    counts: Counter[str] = Counter()
    named: list[Symptom] = []
    looked, is_all = 0, True
    async for found in portions(store, deep=deep, size=portion):
        for finding in found.findings:
            counts[finding.kind] += 1
            if counts[finding.kind] <= MOST_NAMED:
                named.append(_stuck(finding))
        looked, is_all = looked + found.jobs, found.next is None
    rest = [
        Symptom(kind=KINDS[kind], what=f"and {count - MOST_NAMED:,} jobs more", cure="the same")
        for kind, count in counts.items()
        if count > MOST_NAMED
    ]
    loose = await store.loose_slots(limit=MOST_NAMED)
    return Checkup(
        facts=[
            Fact("looked at", f"{looked:,} jobs, {'all' if is_all else 'the newest; --deep looks at all'}"),
            *([Fact("stuck", f"{counts.total():,} jobs in all")] if deep else []),
        ],
        symptoms=[*named, *rest, *map(_loose, loose)],
    )


def named_limit(name: str, key: str) -> str:
    """A key of a limit, in words."""
    return f"limit {name}" + (f" with key {key}" if key else "")


def _stuck(finding: Finding) -> Symptom:
    return Symptom(
        kind=KINDS[finding.kind],
        what=f"job {finding.job}: {finding.problem}",
        since=finding.since,
        cure=finding.cure,
        job=finding.job,
    )


def _loose(loose: LooseSlots) -> Symptom:
    places = "1 place" if loose.places == 1 else f"{loose.places:,} places"
    return Symptom(
        kind=SLOT_HELD,
        what=f"{places} under {named_limit(loose.name, loose.key)} held by no job that has a lease: "
        "so many fewer run than may",
        cure=f"{MENDED_BY} frees what no job holds",
    )
