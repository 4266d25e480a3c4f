"""The query parameters of pages."""

import re
from collections.abc import Callable
from typing import Any

from tenure.api import inputs
from tenure.core.errors import InvalidInput
from tenure.core.model.durable import kept_named
from tenure.core.values.bounds import LARGEST_NUMBER
from tenure.engine.figures.statistics import PERIODS
from tenure.surfaces.dashboard.pages.job.frames import TraceView
from tenure.surfaces.dashboard.pages.job.log_view import WARNINGS
from tenure.surfaces.dashboard.pages.jobs.dead_letters import ORDERS
from tenure.surfaces.http.app.parameters import CURSOR, DELIVERY_STATE, OF_LISTS
from tenure.surfaces.http.app.routes import Parameter

_OF_API = {parameter.name: parameter for parameter in OF_LISTS}
_NUMBER = re.compile(r"[0-9]{1,19}")
_PLACE = re.compile(r"([0-9]{1,19})\.([0-9]{1,10})")


def _count(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > LARGEST_NUMBER:
        raise InvalidInput("number", f"is {text!r:.64}", f"give a whole number from 0 to {LARGEST_NUMBER}")
    return int(text)


def _place(text: str) -> tuple[int, int]:
    found = _PLACE.fullmatch(text)
    if not found or int(found[1]) > LARGEST_NUMBER or int(found[2]) >= 2**31:
        raise InvalidInput("place", f"is {text!r:.64}", "begin at 0.0")
    return int(found[1]), int(found[2])


def _step(text: str) -> str:
    kept_named("step", text)
    return text


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise InvalidInput("word", f"is {text!r:.64}", f"give one of {', '.join(words)}")
        return text

    return read


def _parameter(name: str, read: Callable[[str], Any], text: str) -> Parameter:
    return Parameter(name=name, read=read, schema={"type": "string"}, text=text)


OF_JOBS = (
    _parameter("q", str, "the search"),
    _parameter("more", str, "further words of the search"),
    _OF_API["status"],
    _OF_API["sort"],
    CURSOR,
    _parameter("did", _one_of("cancel", "replay", "purge"), "the action that was just done"),
    _parameter("changed", _count, "how many jobs it changed"),
    _parameter("chosen", _count, "how many jobs were selected"),
)
OF_JOB = (
    _parameter("events", _count, "events after this number"),
    _parameter("attempts", _count, "attempts after this fence"),
    _parameter("log", _place, "log lines after this fence and number"),
    _parameter("of", _count, "the log of the attempt under this fence"),
    _parameter("level", _one_of(WARNINGS), "only warnings and errors of the log"),
    _parameter("trace", _one_of(*TraceView), "how the traceback is shown"),
    _parameter("steps", _step, "steps behind the one of this name"),
)
OF_DEAD_LETTERS = (
    _parameter("q", str, "words of the definition or the error"),
    _parameter("order", _one_of(*ORDERS), "the order of the causes"),
    _parameter("within", _one_of("day"), "causes of the last 24 hours alone"),
    _parameter("tried", inputs.job_id, "the job by which one of them was tried"),
)
OF_OVERVIEW = (
    _parameter("period", _one_of(*PERIODS, "week"), "the period of the charts"),
    _parameter("order", _one_of("busiest", "slowest", "failing"), "the order of definitions"),
    _parameter("how", _one_of("terminal", "python", "http"), "how the first job is started"),
    _parameter("first", _one_of("run"), "the page of the first run, even if there is a job by now"),
)
OF_KEYS = (CURSOR,)
OF_SCHEDULES = (
    _parameter("definition", str, "schedules of this definition"),
    _parameter("q", str, "a part of a name, or of a definition"),
    _parameter("show", _one_of("", "failing", "missed", "paused"), "a part of the list"),
    CURSOR,
)
OF_DEFINITION = (
    _parameter("period", _one_of(*PERIODS, "week"), "the period of the figures"),
    _parameter("form", _one_of("", "json"), "how the params of a job are written"),
)
OF_SCHEDULE = (_parameter("show", _one_of("", "failed", "missed"), "a part of the history"), CURSOR)
OF_NEW_SCHEDULE = (_parameter("definition", str, "the definition that it starts"),)
OF_NEW_WEBHOOK = (_parameter("definition", str, "the definition whose events it sends"),)
OF_WEBHOOKS = (CURSOR,)
OF_WEBHOOK = (DELIVERY_STATE, CURSOR)
