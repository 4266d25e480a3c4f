"""Hides secrets in documents and texts before they are shown: the values of some names are left out.

Names are compared word by word: `apiKey`, `API-Key`, `api.key` and `api_key` are the same. In documents a
name is the key of an object, at any depth; in texts it is what stands before `=` or `:`. Addresses lose
their password. What is stored never changes.
"""

import json
import re
from collections.abc import Iterable
from fnmatch import translate
from typing import Any

from tenure.core.values.documents import Document
from tenure.core.values.secret_names import REDACTED
from tenure.core.values.urls import users_masked_in

HIDDEN = "[redacted]"
_MOST_KNOWN = 1_000

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = str.maketrans("-. ", "___")
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
# A name starts at a boundary and has a bounded length, so that matching takes linear time.
_NAME = re.compile(r"""(?<![\w-])(?P<name>[\w-]{1,64})\\?["']?\s{0,3}[=:]\s{0,3}""")
_VALUE = re.compile(
    r"""(?i:bearer|basic|digest|token)\s{1,3}[^\s,;"']+"""
    r"""|"(?:[^"\\]|\\.)*"?|'[^']*'?|\\"[^"\\]*(?:\\")?|[^\s,;&"'(){}\[\]<>]+"""
)


class Redaction:
    """Hides the values of names that match any of the patterns."""

    def __init__(self, names: Iterable[str] = REDACTED) -> None:
        patterns = [translate(_in_words(name)) for name in names]
        self._hides = re.compile("|".join(patterns)) if patterns else None
        self._known: dict[str, bool] = {}

    def hides(self, name: str) -> bool:
        """Whether the value of a name is hidden."""
        if name not in self._known:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            self._known[name] = self._hides is not None and bool(self._hides.match(_in_words(name)))
        return self._known[name]

    def document(self, document: Document) -> Document:
        """The document with the values of such names hidden; the same document if it has none."""
        if self._hides is None or "{" not in document:
            return document
        value = json.loads(document)
        return Document(_COMPACT.encode(value)) if self._hide_in(value) else document

    def text(self, text: str) -> str:
        """The text with the values of such names, and the passwords of addresses, hidden."""
        if self._hides is None:
            return text
        text = users_masked_in(text)
        shown, at = "", 0
        for name in _NAME.finditer(text):
            if name.start() < at or not self.hides(name["name"]):
                continue
            if value := _VALUE.match(text, name.end()):
                shown += text[at : name.end()] + HIDDEN
                at = value.end()
        return shown + text[at:]

    def fields(self, document: Document) -> Document:
        """The fields of a log line: as a document, and its texts, such as an exception's, as texts."""
        if self._hides is None:
            return document
        value = json.loads(self.document(document))
        return Document(_COMPACT.encode(self._with_texts_hidden(value)))

    def value(self, name: str, value: Any) -> Any:
        """A value as it may be shown under its name: hidden, or with the secrets in its own text hidden."""
        if self.hides(name):
            return HIDDEN
        if isinstance(value, list | tuple):
            return [self.text(each) if isinstance(each, str) else each for each in value]
        return self.text(value) if isinstance(value, str) else value

    def derived_key(self, key: str, document: Document) -> str:
        """A key that may be a value of a document: hidden if that value is."""
        if self._hides is None:
            return key
        secrets = _values(json.loads(document)) - _values(json.loads(self.document(document)))
        return HIDDEN if key in secrets else self.text(key)

    def _with_texts_hidden(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._with_texts_hidden(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._with_texts_hidden(part) for part in value]
        return self.text(value) if isinstance(value, str) else value

    def _hide_in(self, value: Any) -> bool:
        """Hide secrets in place; return whether there were any."""
        found = False
        if isinstance(value, list):
            for part in value:
                found |= self._hide_in(part)
        elif isinstance(value, dict):
            for name, part in value.items():
                if part is not None and self.hides(name):
                    value[name] = HIDDEN
                    found = True
                else:
                    found |= self._hide_in(part)
        return found


def _values(value: Any) -> set[str]:
    """Every plain value in a document, in the form that a key made of it has."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return set().union(*map(_values, parts))
    return {value if isinstance(value, str) else json.dumps(value)}


def _in_words(name: str) -> str:
    return _HUMP.sub("_", name).lower().translate(_BETWEEN)


USUAL = Redaction()
