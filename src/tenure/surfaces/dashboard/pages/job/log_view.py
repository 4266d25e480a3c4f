"""The log of a job: its end, or the part that the address names; of all attempts, one, or warnings alone."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from msgspec import Struct

from tenure.api import views
from tenure.core.model.job import Job
from tenure.core.model.outcome import Attempt, Ending
from tenure.engine.client.log_tail import AttemptLine
from tenure.surfaces.dashboard.formats import LONGEST_LINE, one_line, short
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.http.app.context import AppContext, Request

LOG_LINES = 300
MOST_SEARCHED = 2_000
"""Among how many of the last lines warnings are looked for."""

MOST_SEGMENTS = 3
"""How many attempts have a link of their own, the last ones."""

WARNINGS = "warnings"
_TONES = {"warning": "warn", "warn": "warn", "error": "bad", "critical": "bad", "fatal": "bad"}


class LogRow(Struct, frozen=True):
    """A line of the log, or, with `attempt`, the head of an attempt's lines."""

    at: datetime
    level: str
    text: str
    more: str
    tone: str
    attempt: str = ""


class LogView(Struct, frozen=True):
    """Part of the log. `earlier` and `later` are the addresses of more on either side.

    With `is_end` it is the end of the log, where new lines appear. `options` choose what is shown: pairs of
    an address and a word.
    """

    rows: Sequence[LogRow]
    earlier: str | None
    later: str | None
    is_end: bool
    options: Sequence[tuple[str, str]]
    chosen: str


async def log_view(context: AppContext, request: Request, job: Job, attempts: Sequence[Attempt]) -> LogView:
    """What the address asks for, otherwise the end."""
    place = request.query.get("log")
    fence: int | None = request.query.get("of")
    only_warnings = request.query.get("level") == WARNINGS
    by_fence = {attempt.fence: attempt for attempt in attempts}
    later = None
    if place is None and fence in {None, job.fence}:
        most = MOST_SEARCHED if only_warnings else LOG_LINES
        lines = await context.client.last_log(job.id, limit=most + 1)
        is_begun = len(lines) > most
        lines = [line for line in lines[-most:] if fence in {None, line.fence}]
    else:
        after = place or (fence or 0, 0)
        lines = await context.client.log(job.id, fence=fence, after=after, limit=LOG_LINES + 1)
        is_begun = after[1] > 0
        if len(lines) > LOG_LINES:
            lines = lines[:LOG_LINES]
            later = _address(job, log=f"{lines[-1].fence}.{lines[-1].line.n}", of=fence)
    if only_warnings:
        lines = [line for line in lines if line.line.level in _TONES]
    first = _address(job, log=f"{fence or 0}.0", of=fence)
    return LogView(
        rows=list(_rows(lines, by_fence, context)),
        earlier=first if is_begun else None,
        later=later,
        is_end=place is None and fence in {None, job.fence},
        options=_options(job, attempts),
        chosen=_chosen(fence, by_fence, only_warnings=only_warnings),
    )


def _rows(lines: Sequence[AttemptLine], attempts: Mapping[int, Attempt], context: AppContext) -> list[LogRow]:
    rows: list[LogRow] = []
    before = None
    is_of_many = len({line.fence for line in lines}) > 1
    for line in lines:
        if is_of_many and line.fence != before:
            rows.append(LogRow(line.line.at, "", "", "", "", _head(line, attempts.get(line.fence))))
        before = line.fence
        item = views.log_item(*line, context.redaction)
        more = "" if item.fields is None else fields_text(bytes(item.fields).decode())
        rows.append(LogRow(item.at, item.level, one_line(item.text), more, _TONES.get(item.level, "")))
    return rows


def fields_text(document: str) -> str:
    """The fields of a line as they are read best: `page=1 of=40`."""
    value = json.loads(document)
    if not isinstance(value, dict):
        return one_line(document)
    parts = [
        f"{name}={one if isinstance(one, str) and one.isalnum() else json.dumps(one, ensure_ascii=False)}"
        for name, one in value.items()
    ]
    return one_line(" ".join(parts)[: LONGEST_LINE + 1])


def _head(line: AttemptLine, attempt: Attempt | None) -> str:
    if attempt is None:
        return f"Attempt {line.attempt}"
    ended = "" if attempt.ended_at is None else f", ended {short(attempt.ended_at)}"
    lost = ": its worker was not heard from" if attempt.ending is Ending.LOST else ""
    return f"Attempt {attempt.number} on {attempt.worker}{ended}{lost}"


def _options(job: Job, attempts: Sequence[Attempt]) -> list[tuple[str, str]]:
    own = attempts[-MOST_SEGMENTS:] if len(attempts) > 1 else []
    return [
        (_address(job), "All"),
        (_address(job, level=WARNINGS), "Warnings"),
        *((_address(job, of=one.fence), _name(one)) for one in own),
    ]


def _name(attempt: Attempt) -> str:
    return f"Attempt {attempt.number}"


def _chosen(fence: int | None, attempts: Mapping[int, Attempt], *, only_warnings: bool) -> str:
    if fence is None:
        return "Warnings" if only_warnings else "All"
    return _name(attempts[fence]) if fence in attempts else ""


def _address(job: Job, **words: str | int | None) -> str:
    query = urlencode({name: value for name, value in words.items() if value is not None})
    return f"{job_address(job.id)}{'?' if query else ''}{query}#log-title"
