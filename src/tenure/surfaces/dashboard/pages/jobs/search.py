"""The search box: `definition:email.welcome queue:mail tag:urgent`, a definition's name, or a job's id.

Eight characters or more from the beginning of an id, or from its end, which lists show, find their job, too.
Some words no index has, such as `error:` and `param.to:`; they are looked for among the newest jobs. A value
with spaces stands in quotation marks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
LOOKED_FOR = ("error", "worker", "schedule", "key")
"""Words that no index has, beside `param.NAME`."""

_PARAM = re.compile(r"param\.[^\s:\"]{1,120}")
_PART = re.compile(r"""((?:[^\s":]+:)?)"([^"]*)"|(\S+)""")
_END_OF_ID = re.compile(r"[0-9a-f]{8,12}", re.IGNORECASE | re.ASCII)
_MOMENTS = frozenset({"after", "before"})
_WORDS = (*_FIELDS, *LOOKED_FOR, "param.NAME")
_WAY_OUT = "write a definition's name, a job's id, or one of " + ", ".join(f"{word}:…" for word in _WORDS)


class Search(Struct, frozen=True):
    """The search, as fields of a filter; `job` if it is the id of one.

    `ending` is what may be the end of an id, or its beginning; where no job has such an id, it is a
    definition's name. `looks` are words that no index has, with their values; `parts` are all its words.
    """

    text: str = ""
    fields: Mapping[str, Any] = {}
    job: UUID | None = None
    ending: str = ""
    looks: Mapping[str, str] = {}
    parts: Sequence[tuple[str, str]] = ()

    def filter(self, states: frozenset[State], namespace: str | None) -> Filter:
        """The filter for all that match in these states. Raises InvalidInput where no filter says that."""
        if self.job is not None:  # without this it would match every job
            raise InvalidInput("search", "names one job", "open its page")
        if self.looks:
            words = " and ".join(f"{word}:" for word in self.looks)
            raise InvalidInput("search", f"has {words}, which only looks at some jobs", "select the jobs")
        return self.wide_filter(states, namespace)

    def wide_filter(self, states: frozenset[State], namespace: str | None) -> Filter:
        """The filter without the words that no index has: it matches more. Raises InvalidInput."""
        return Filter(states=states, namespace=namespace, **self.fields)


def read(text: str) -> Search:
    """Parse a search. Raises InvalidInput, which says what is allowed."""
    text = text.strip()
    if len(text) > LONGEST:
        raise InvalidInput("search", f"has {len(text):,} characters", f"give at most {LONGEST}")
    fields: dict[str, Any] = {}
    looks: dict[str, Any] = {}
    for word, value in _parts(text):
        if not word and (job := _job(value)):
            return Search(text, {}, job)
        found, field = (
            (fields, _FIELDS.get(word or "definition")) if word not in LOOKED_FOR else (looks, word)
        )
        if field is None and _PARAM.fullmatch(word):
            found, field = looks, word
        if field is None:
            raise InvalidInput("search", f"has {word!r:.64}, which is no search word", _WAY_OUT)
        if field in found:
            raise InvalidInput("search", f"has {word} twice", "give it once")
        if not value:
            raise InvalidInput("search", f"has nothing behind {word}:", "write what it is to be")
        found[field] = inputs.moment(value) if word in _MOMENTS else value
    ending = text.lower() if _END_OF_ID.fullmatch(text) else ""
    search = Search(text, fields, ending=ending, looks=looks, parts=tuple(_parts(text)))
    search.wide_filter(frozenset(), None)
    return search


def written(parts: Sequence[tuple[str, str]]) -> str:
    """Words with their values as a search: `queue:mail error:"no route"`."""
    return " ".join(f"{word or 'definition'}:{_quoted(value)}" for word, value in parts)


def joined(before: Search, more: str) -> str:
    """The search that has more words, too; a word that is there already gets the new value.

    An id, or what may be a part of one, stands alone. Raises InvalidInput for what is no search.
    """
    added = read(more)
    if added.job is not None or added.ending:
        return added.text
    named = {word or "definition" for word, _ in added.parts}
    kept = [part for part in before.parts if (part[0] or "definition") not in named]
    return written([*kept, *added.parts])


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The words of a search with their values; a part that is no such pair has no word."""
    for found in _PART.finditer(text):
        if found[3] is None:
            yield found[1].removesuffix(":"), found[2]
        else:
            word, colon, value = found[3].partition(":")
            yield (word, value) if colon else ("", word)


def _job(text: str) -> UUID | None:
    try:
        return inputs.job_id(text)
    except InvalidInput:
        return None
