"""What needs attention, the worst first, each with a link to act on it: the words are those of the doctor."""

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct

from tenure.core.model.states import State
from tenure.core.reports.health import Symptom
from tenure.engine.health.symptoms import DEAD_LETTERS
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address

_PAGES = {
    "worker-silent": "/ui/workers",
    "worker-unready": "/ui/workers",
    "messages-away": "/ui/workers",
    "unserved": "/ui/queues",
    "paused": "/ui/queues",
    "aside": "/ui/jobs",
    "schedule-idle": "/ui/schedules",
    "schedule-failed": "/ui/schedules",
    "webhook-paused": "/ui/webhooks",
    "webhook-failing": "/ui/webhooks",
    "webhook-key": "/ui/webhooks",
    "webhook-unreadable": "/ui/webhooks",
    "overdue": list_address(status=[State.RUNNING, State.CANCELLING]),
    DEAD_LETTERS: "/ui/dead-letters",
}
"""Where to act on symptoms of a kind that name no job and no definition; others have no page."""


_WORDS = {"unserved": "Show jobs", DEAD_LETTERS: "See causes", "overdue": "Show jobs"}
"""What a link to the page says; else it says that it shows it."""


class TroubleItem(Struct, frozen=True):
    """A trouble: how bad it is, what it is, what to do about it, and where if there is a page for it.

    `resume` is where a form goes that ends a pause; `name` is the definition or queue that it is about.
    """

    tone: str
    text: str
    remedy: str
    href: str | None
    since: datetime | None = None
    word: str = "Show"
    resume: str | None = None
    name: str = ""


def troubles(symptoms: Iterable[Symptom]) -> list[TroubleItem]:
    """All troubles, those that need a person first."""
    items = [
        TroubleItem(
            _tone(symptom),
            _sentence(symptom.what),
            _sentence(symptom.cure),
            _href(symptom),
            symptom.since,
            _WORDS.get(symptom.kind, "Show"),
            _resume(symptom),
            symptom.definition or symptom.queue or "",
        )
        for symptom in symptoms
    ]
    return sorted(items, key=lambda item: item.tone != "bad")


def _resume(symptom: Symptom) -> str | None:
    if symptom.kind != "paused" or symptom.definition is not None or symptom.queue is None:
        return None
    return f"/ui/queues/{quote(symptom.queue, safe='')}/resume"


def _tone(symptom: Symptom) -> str:
    return "bad" if symptom.needs_person or symptom.kind == DEAD_LETTERS else "warn"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _href(symptom: Symptom) -> str | None:
    if symptom.job is not None:
        return job_address(symptom.job)
    if symptom.kind == "unserved" and symptom.definition is not None:
        words = f"definition:{symptom.definition} queue:{symptom.queue}"
        return list_address(q=words, status=(State.QUEUED,))
    if symptom.kind == "paused" and symptom.definition is not None:
        return f"/ui/definitions/{quote(symptom.definition, safe='')}"
    return _PAGES.get(symptom.kind)
