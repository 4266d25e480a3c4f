"""The search box: `definition:email.welcome queue:mail tag:urgent`, a definition's name, or a job's id."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.reading import Filter
from tenure.core.states import State
from tenure.surfaces import inputs

LONGEST = 400
_FIELDS = {
    "definition": "definition",
    "queue": "queue",
    "tag": "tag",
    "fingerprint": "fingerprint",
    "after": "created_after",
    "before": "created_before",
}
_MOMENTS = frozenset({"after", "before"})
_WAY_OUT = "write a definition's name, a job's id, or one of " + ", ".join(f"{word}:…" for word in _FIELDS)


class Search(Struct, frozen=True):
    """What was typed, as a filter's fields; `job` when it was the id of one."""

    text: str = ""
    fields: Mapping[str, Any] = {}
    job: UUID | None = None

    def filter(self, states: frozenset[State], namespace: str | None) -> Filter:
        """The jobs that are sought, in these states. Raises InvalidInput for a name that is none."""
        if self.job is not None:  # without this it would mean every job
            raise InvalidInput("search", "names one job", "go to its page")
        return Filter(states=states, namespace=namespace, **self.fields)


def read(text: str) -> Search:
    """What is sought. Raises InvalidInput, which says what can be."""
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
            raise InvalidInput("search", f"has {word!r:.64}, which can not be sought", _WAY_OUT)
        if _FIELDS[word] in fields:
            raise InvalidInput("search", f"has {word} twice", "give it once")
        fields[_FIELDS[word]] = inputs.moment(value) if word in _MOMENTS else value
    search = Search(text, fields)
    search.filter(frozenset(), None)
    return search


def _job(text: str) -> UUID | None:
    try:
        return inputs.job_id(text)
    except InvalidInput:
        return None
