"""The parameters that pages take in their addresses."""

import re
from collections.abc import Callable
from typing import Any

from tenure.core.bounds import LARGEST_NUMBER
from tenure.core.errors import InvalidInput
from tenure.engine.statistics import PERIODS
from tenure.surfaces.http.parameters import CURSOR, OF_LISTS
from tenure.surfaces.http.routes import Parameter

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


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise InvalidInput("word", f"is {text!r:.64}", f"give one of {', '.join(words)}")
        return text

    return read


def _parameter(name: str, read: Callable[[str], Any], text: str) -> Parameter:
    return Parameter(name=name, read=read, schema={"type": "string"}, text=text)


OF_JOBS = (
    _parameter("q", str, "what is sought"),
    _OF_API["status"],
    _OF_API["sort"],
    CURSOR,
    _parameter("did", _one_of("cancel", "replay"), "what was done just now"),
    _parameter("changed", _count, "to how many jobs"),
    _parameter("chosen", _count, "of how many"),
)
OF_JOB = (
    _parameter("events", _count, "events behind this number"),
    _parameter("attempts", _count, "attempts behind this fence"),
    _parameter("log", _place, "log lines behind this fence and number"),
)
OF_OVERVIEW = (_parameter("period", _one_of(*PERIODS), "over which time"),)
