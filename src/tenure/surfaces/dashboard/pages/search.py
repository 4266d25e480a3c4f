"""The search box: `definition:email.welcome queue:mail tag:urgent`, a definition's name, or a job's id.

The eight characters at the end of an id, which lists show, find their job, too.
"""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.api import inputs
from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter

LONGEST = 400
_FIELDS = {
    "definition": "definition",
    "queue": "queue",
    "tag": "tag",
    "fingerprint": "fingerprint",
    "signal": "waiting_for",
    "after": "created_after",
    "before": "created_before",
}
_ENDING = re.compile(r"[0-9a-f]{8,12}", re.IGNORECASE | re.ASCII)
_MOMENTS = frozenset({"after", "before"})
_WAY_OUT = "write a definition's name, a job's id, or one of " + ", ".join(f"{word}:…" for word in _FIELDS)


class Search(Struct, frozen=True):
    """The search, as fields of a filter; `job` if it is the id of one.

    `ending` is what may be the end of an id; where no job has such an id, it is a definition's name.
    """

    text: str = ""
    fields: Mapping[str, Any] = {}
    job: UUID | None = None
    ending: str = ""

    def filter(self, states: frozenset[State], namespace: str | None) -> Filter:
        """The filter for this search in these states. Raises InvalidInput for an invalid name."""
        if self.job is not None:  # without this it would match every job
            raise InvalidInput("search", "names one job", "open its page")
        return Filter(states=states, namespace=namespace, **self.fields)


def read(text: str) -> Search:
    """Parse a search. Raises InvalidInput, which says what is allowed."""
    text = text.strip()
    if len(text) > LONGEST:
        raise InvalidInput("search", f"has {len(text):,} characters", f"give at most {LONGEST}")
    fields: dict[str, Any] = {}
    for part in text.split():
        word, colon, value = part.partition(":")
        if not colon:
            if job := _job(part):
                return Search(text, {}, job)
            word, value = "definition", part
        if word not in _FIELDS:
            raise InvalidInput("search", f"has {word!r:.64}, which is no search word", _WAY_OUT)
        if _FIELDS[word] in fields:
            raise InvalidInput("search", f"has {word} twice", "give it once")
        fields[_FIELDS[word]] = inputs.moment(value) if word in _MOMENTS else value
    search = Search(text, fields, ending=text.lower() if _ENDING.fullmatch(text) else "")
    search.filter(frozenset(), None)
    return search


def _job(text: str) -> UUID | None:
    try:
        return inputs.job_id(text)
    except InvalidInput:
        return None
