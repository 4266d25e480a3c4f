"""Looks for jobs by words that no index has: texts of errors, params, workers, schedules and keys.

Texts of dead letters are found by their causes, of which there are few. Anything else is found by a look at
the newest jobs, which ends after so many. What is compared is what is shown, with secrets hidden: a search
must not find what a page would not tell.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec import Struct, structs

from tenure.api import views
from tenure.core.model.states import DEAD_LETTERS
from tenure.core.reports.reading import Brief, Filter, Listed, Page
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.surfaces.http.app.context import AppContext

MOST_LOOKED_THROUGH = 1_000
MOST_CAUSES = 100
MOST_ALIKE = 10
"""How many causes with the same text are followed."""


CAUSES = "Looked for in dead letters, by their causes. For other jobs choose a state."


class Looked(Struct, frozen=True):
    """The jobs that were found, and among which: a sentence."""

    page: Page
    among: str = ""


async def look(
    context: AppContext,
    which: Filter,
    looks: Mapping[str, str],
    *,
    after: UUID | None,
    newest_first: bool,
    limit: int,
) -> Looked:
    """Up to `limit` jobs that match a filter and all words."""
    rest = {word: value for word, value in looks.items() if word != "error"}
    if "error" in looks and not rest and _is_of_causes(which):
        return Looked(await _by_cause(context, which, looks["error"], after, newest_first, limit), CAUSES)
    found: list[Listed] = []
    among, first = 0, "next" if after else "newest" if newest_first else "oldest"
    while among < MOST_LOOKED_THROUGH:
        page = await context.client.page(which, after=after, newest_first=newest_first, limit=LARGEST_PAGE)
        among += len(page.jobs)
        briefs = await context.client.briefs([job.id for job in page.jobs])
        found += [job for job in page.jobs if _matches(job, briefs.get(job.id), looks, context)]
        after = page.next
        if len(found) >= limit or after is None:
            break
        if not page.jobs:  # a store reads a bounded number of rows for each page
            among += LARGEST_PAGE
    if len(found) > limit:
        found, after = found[:limit], found[limit - 1].id
    return Looked(Page(found, after), f"Looked for among the {first} {among:,} jobs that match the rest.")


def brief_params(params: Document | None, context: AppContext, longest: int = 80) -> str:
    """The scalars of params in brief, with secrets hidden: `order=84121 customer=4711`."""
    if params is None:
        return ""
    shown = json.loads(context.redaction.document(params))
    if not isinstance(shown, dict):
        return "" if isinstance(shown, list) else _cut(_text(shown), longest)
    scalars = {name: value for name, value in shown.items() if not isinstance(value, dict | list)}
    return _cut(" ".join(f"{name}={_text(value)[:longest]}" for name, value in scalars.items()), longest)


def _is_of_causes(which: Filter) -> bool:
    """Whether only dead letters of all namespaces are meant: causes are counted for all."""
    return which.states <= DEAD_LETTERS and which.namespace is None and which.fingerprint is None


async def _by_cause(
    context: AppContext, which: Filter, text: str, after: UUID | None, newest_first: bool, limit: int
) -> Page:
    known = await context.client.dead_letters(limit=MOST_CAUSES)
    alike = [
        group.fingerprint
        for group in known.groups
        if which.definition in {None, group.definition} and _says(group.error, text, context)
    ]
    found: list[Listed] = []
    reached: list[UUID] = []
    for fingerprint in alike[:MOST_ALIKE]:
        narrow = structs.replace(which, fingerprint=fingerprint, states=which.states or DEAD_LETTERS)
        page = await context.client.page(narrow, after=after, newest_first=newest_first, limit=limit)
        found += page.jobs
        reached += [] if page.next is None else [page.next]
    found.sort(key=lambda job: job.id, reverse=newest_first)
    if not reached and len(found) <= limit:
        return Page(found, None)
    # Behind the place that the slowest of them has reached, others would be missing.
    if reached and newest_first:
        found = [job for job in found if job.id >= max(reached)]
    elif reached:
        found = [job for job in found if job.id <= min(reached)]
    if len(found) > limit:
        return Page(found[:limit], found[limit - 1].id)
    return Page(found, max(reached) if newest_first else min(reached))


def _matches(job: Listed, brief: Brief | None, looks: Mapping[str, str], context: AppContext) -> bool:
    return brief is not None and all(_fits(job, brief, *look, context) for look in looks.items())


def _fits(job: Listed, brief: Brief, word: str, value: str, context: AppContext) -> bool:
    match word:
        case "error":
            error = None if brief.error is None else Failure(*brief.error)
            return _says(error, value, context)
        case "worker":
            return brief.worker is not None and value in {brief.worker, brief.worker.partition(":")[0]}
        case "schedule":
            return brief.creator == f"schedule:{value}"
        case "key":
            return job.key == value and _shown_key(job.key, brief, context) == value
        case _:
            return _param(brief.params, word.removeprefix("param."), context) == value


def _says(error: Failure | None, text: str, context: AppContext) -> bool:
    if error is None:
        return False
    return text.casefold() in views.summary(views.failure(error, context.redaction)).casefold()


def _shown_key(key: str, brief: Brief, context: AppContext) -> str:
    return "" if brief.params is None else context.redaction.derived_key(key, brief.params)


def _param(params: Document | None, path: str, context: AppContext) -> str | None:
    if params is None:
        return None
    value: Any = json.loads(context.redaction.document(params))
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return None if isinstance(value, dict | list) else _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
