"""Dead letters by what they died of: one cause is looked at once, however many jobs it took."""

from msgspec import Struct

from tenure.core.failures import DeadGroup
from tenure.core.outcome import Failure
from tenure.core.states import DEAD_LETTERS, State
from tenure.surfaces import views
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address
from tenure.surfaces.dashboard.rendering import render
from tenure.surfaces.http.desk import Answer, Asked, Desk

MOST_GROUPS = 100
DEAD = tuple(state for state in State if state in DEAD_LETTERS)


class Group(Struct, frozen=True):
    """Dead letters of one cause, and where they are."""

    of: DeadGroup
    error: Failure | None
    search: str
    all_of_it: str
    newest_job: str


async def dead_letters(desk: Desk, asked: Asked) -> Answer:
    """Dead letters, the latest cause first."""
    found = await desk.client.dead_letters(limit=MOST_GROUPS)
    groups = [_group(known, desk) for known in found.groups]
    return render(
        asked,
        "dead_letters.html",
        fragment="_dead_letters.html",
        groups=groups,
        is_more=found.is_more,
        states=DEAD,
    )


def _group(known: DeadGroup, desk: Desk) -> Group:
    search = f"fingerprint:{known.fingerprint}"
    return Group(
        known,
        known.error and views.failure(known.error, desk.redaction),
        search,
        list_address(q=search, status=DEAD),
        job_address(known.job),
    )
