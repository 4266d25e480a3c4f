"""Dead letters, grouped by cause."""

from msgspec import Struct

from tenure.api import views
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import DeadGroup
from tenure.core.values.failure import Failure
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response

MOST_GROUPS = 100
DEAD = tuple(state for state in State if state in DEAD_LETTERS)


class Group(Struct, frozen=True):
    """Dead letters of one cause, with links to them."""

    of: DeadGroup
    error: Failure | None
    search: str
    all_of_it: str
    newest_job: str


async def dead_letters(context: AppContext, request: Request) -> Response:
    """The page of dead letters, the latest cause first."""
    found = await context.client.dead_letters(limit=MOST_GROUPS)
    groups = [_group(known, context) for known in found.groups]
    return render(
        request,
        "dead_letters.html",
        fragment="_dead_letters.html",
        groups=groups,
        is_more=found.is_more,
        states=DEAD,
    )


def _group(known: DeadGroup, context: AppContext) -> Group:
    search = f"fingerprint:{known.fingerprint}"
    return Group(
        known,
        known.error and views.failure(known.error, context.redaction),
        search,
        list_address(q=search, status=DEAD),
        job_address(known.job),
    )
