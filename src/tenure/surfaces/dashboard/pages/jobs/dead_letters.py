"""Dead letters, grouped by cause, each with the careful way out: try one, see it go well, replay the rest."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from tenure.api import views
from tenure.core.errors import JobNotFound
from tenure.core.model.job import Job
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import DeadGroup
from tenure.core.values import fingerprint
from tenure.core.values.failure import Failure
from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.pages import addresses
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address, with_words
from tenure.surfaces.dashboard.pages.job.frames import place_of
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response

MOST_GROUPS = 100
HOURS = 24
DAY = timedelta(hours=HOURS)
DEAD = tuple(state for state in State if state in DEAD_LETTERS)
ORDERS = ("newest", "most", "oldest")
_WORDS = {"newest": "newest", "most": "most jobs", "oldest": "oldest"}
_NOT_TWICE = "must not run twice"
_OUT_OF_MEMORY = "OutOfMemory"


class TriedOne(Struct, frozen=True):
    """The replay of one dead letter that was tried, and the key under which the others are replayed."""

    job: Job
    error: Failure | None
    key: str

    @property
    def has_failed(self) -> bool:
        """Whether it has ended otherwise than well."""
        return self.job.state.is_final and self.job.state is not State.SUCCEEDED


class Cause(Struct, frozen=True, kw_only=True):
    """Dead letters of one cause: when they ended, hour by hour, and what was tried with them.

    `left` is how many are replayed after a try: all but that one.
    """

    of: DeadGroup
    error: Failure | None
    place: str
    search: str
    all_of_it: str
    newest_job: str
    spark: Sequence[svg.Rect]
    last_day: int
    trial: TriedOne | None

    @property
    def is_buried(self) -> bool:
        """Whether they were buried: without an error of their own, or killed and not to run twice."""
        return self.error is None or _NOT_TWICE in self.error.message

    @property
    def needs_memory(self) -> bool:
        """Whether more memory would help, and another attempt alone would not."""
        return self.error is not None and self.error.kind == _OUT_OF_MEMORY

    @property
    def left(self) -> str:
        """The number of the others, as far as it was counted."""
        count = self.of.count
        return str(count) if count.is_more else f"{max(count.n - 1, 0):,}"


async def dead_letters(context: AppContext, request: Request) -> Response:
    """The page of dead letters, the latest cause first unless another order is asked for."""
    query = request.query
    found = await context.client.dead_letters(limit=MOST_GROUPS)
    trial = await _trial(context, request)
    since = (await context.client.health.look()).at - DAY if query.get("within") else None
    text: str = query.get("q", "").strip()
    order: str = query.get("order", ORDERS[0])
    shown = [
        group
        for group in found.groups
        if _says(group, text, context) and (since is None or group.newest >= since)
    ]
    hours = await context.client.dead_letter_hours([group.fingerprint for group in shown])
    causes = [_cause(group, context, hours.get(group.fingerprint, {}), trial) for group in shown]
    causes.sort(key={"newest": _by_newest, "most": _by_count, "oldest": _by_oldest}[order])
    jobs = sum(group.count.n for group in found.groups)
    is_more = found.is_more or any(group.count.is_more for group in found.groups)
    return render(
        request,
        "dead_letters.html",
        fragment="_dead_letters.html",
        causes=causes,
        in_all=f"{jobs:,}{'+' if is_more else ''}",
        is_more=found.is_more,
        states=DEAD,
        text=text,
        order=order,
        within=query.get("within", ""),
        orders=[(_address(text, known, query.get("within", "")), word) for known, word in _WORDS.items()],
        chosen=_WORDS[order],
    )


async def _trial(context: AppContext, request: Request) -> tuple[str, TriedOne] | None:
    """The try that the address names, and the cause that it belongs to."""
    tried: UUID | None = request.query.get("tried")
    if tried is None:
        return None
    try:
        job = await context.client.get(tried)
        before = None if job.replay_of is None else await context.client.get(job.replay_of)
    except JobNotFound:
        return None
    if before is None or before.state not in DEAD_LETTERS:
        return None
    error = job.error and views.failure(job.error, context.redaction)
    return fingerprint.of(before.definition, before.error), TriedOne(job, error, job.key or "")


def _cause(
    known: DeadGroup, context: AppContext, hours: Mapping[int, int], trial: tuple[str, TriedOne] | None
) -> Cause:
    search = f"fingerprint:{known.fingerprint}"
    error = known.error and views.failure(known.error, context.redaction)
    values = [hours.get(HOURS - 1 - n, 0) for n in range(HOURS)]
    return Cause(
        of=known,
        error=error,
        place="" if error is None else place_of(error),
        search=search,
        all_of_it=list_address(q=search, status=DEAD),
        newest_job=job_address(known.job),
        spark=svg.spark(values, "bad"),
        last_day=sum(values),
        trial=trial[1] if trial is not None and trial[0] == known.fingerprint else None,
    )


def _says(group: DeadGroup, text: str, context: AppContext) -> bool:
    """Whether all words of a text are in the cause's definition or error, as they are shown."""
    error = "buried" if group.error is None else views.summary(views.failure(group.error, context.redaction))
    told = f"{group.definition} {error}".casefold()
    return all(word in told for word in text.casefold().split())


def _by_newest(cause: Cause) -> float:
    return -cause.of.newest.timestamp()


def _by_count(cause: Cause) -> float:
    return -cause.of.count.n


def _by_oldest(cause: Cause) -> float:
    return cause.of.oldest.timestamp()


def _address(text: str, order: str, within: str) -> str:
    order = "" if order == ORDERS[0] else order
    return with_words(addresses.DEAD, q=text, order=order, within=within)
