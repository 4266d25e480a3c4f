"""What is shown of documents and texts that may hold secrets: the values of some names are left out.

A name is compared in words: `apiKey`, `API-Key`, `api.key` and `api_key` are the same. In documents it is the
key of an object, at any depth; in texts whatever stands before `=` or `:`, and an address is without its
password. What is stored is never changed.
"""

import json
import re
from collections.abc import Iterable
from fnmatch import translate
from typing import Any

from tenure.core.documents import Document
from tenure.core.urls import users_masked_in
from tenure.settings import REDACTED

HIDDEN = "[redacted]"
_MOST_KNOWN = 1_000

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = str.maketrans("-. ", "___")
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
# A name begins where no name is, and is bounded: no text is looked at twice from one place.
_NAME = re.compile(r"""(?<![\w-])(?P<name>[\w-]{1,64})\\?["']?\s{0,3}[=:]\s{0,3}""")
_VALUE = re.compile(
    r"""(?i:bearer|basic|digest|token)\s{1,3}[^\s,;"']+"""
    r"""|"(?:[^"\\]|\\.)*"?|'[^']*'?|\\"[^"\\]*(?:\\")?|[^\s,;&"'(){}\[\]<>]+"""
)


class Redaction:
    """Leaves out the values of names that match any of the patterns."""

    def __init__(self, names: Iterable[str] = REDACTED) -> None:
        patterns = [translate(_in_words(name)) for name in names]
        self._hides = re.compile("|".join(patterns)) if patterns else None
        self._known: dict[str, bool] = {}

    def hides(self, name: str) -> bool:
        """Whether the value of a name is left out."""
        if name not in self._known:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            self._known[name] = self._hides is not None and bool(self._hides.match(_in_words(name)))
        return self._known[name]

    def document(self, document: Document) -> Document:
        """The document without the values of such names; as it was where there are none."""
        if self._hides is None or "{" not in document:
            return document
        value = json.loads(document)
        return Document(_COMPACT.encode(value)) if self._empty(value) else document

    def text(self, text: str) -> str:
        """The text without what is said of such names, and without the passwords of addresses."""
        if self._hides is None:
            return text
        text = users_masked_in(text)
        shown, at = "", 0
        for said in _NAME.finditer(text):
            if said.start() < at or not self.hides(said["name"]):
                continue
            if value := _VALUE.match(text, said.end()):
                shown += text[at : said.end()] + HIDDEN
                at = value.end()
        return shown + text[at:]

    def value(self, name: str, value: Any) -> Any:
        """A value as it may be shown under its name: left out, or without what its own text says."""
        if self.hides(name):
            return HIDDEN
        if isinstance(value, list | tuple):
            return [self.text(each) if isinstance(each, str) else each for each in value]
        return self.text(value) if isinstance(value, str) else value

    def taken(self, key: str, document: Document) -> str:
        """A key that may have been taken from a document: left out where the document's value is."""
        if self._hides is None:
            return key
        hidden = _values(json.loads(document)) - _values(json.loads(self.document(document)))
        return HIDDEN if key in hidden else self.text(key)

    def _empty(self, value: Any) -> bool:
        """Leave out what is hidden; answers whether there was anything."""
        found = False
        if isinstance(value, list):
            for part in value:
                found |= self._empty(part)
        elif isinstance(value, dict):
            for name, part in value.items():
                if part is not None and self.hides(name):
                    value[name] = HIDDEN
                    found = True
                else:
                    found |= self._empty(part)
        return found


def _values(value: Any) -> set[str]:
    """Every plain value in a document, as a key that is taken from there is written."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return set().union(*map(_values, parts))
    return {value if isinstance(value, str) else json.dumps(value)}


def _in_words(name: str) -> str:
    return _HUMP.sub("_", name).lower().translate(_BETWEEN)


USUAL = Redaction()
