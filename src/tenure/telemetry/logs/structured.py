"""Log entries as JSON, one object on a line, for programs.

Unprintable characters are escaped, so an entry is always one line.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenure.core.values.documents import EMPTY, Document
from tenure.core.values.text import plain, storable
from tenure.telemetry.logs.logs import LogEntry

LONGEST_REASON = 2_000
"""The most characters of a reason."""

_FREE_TEXT = ("reason", "error", "message")
"""Fields that may hold a secret."""

_NEEDS_CARE = frozenset({*_FREE_TEXT, "fields"})
_UNPRINTED = re.compile(r"[^\x20-\x7e]")
_DELETE = b"\x7f"
_ENCODER = msgspec.json.Encoder()

Hide = Callable[[str], str]
"""Removes secrets from a text."""

HideFields = Callable[[Document], Document]
"""Removes secrets from the fields of a job's line."""


def no_fields(_fields: Document) -> Document:
    """Leave all fields out, where nothing says which of them are secrets."""
    return EMPTY


class Structured:
    """A format for `NonblockingStdio`. With `notices` these are JSON, too; else plain lines, for people."""

    def __init__(self, hide: Hide, *, notices: bool, hide_fields: HideFields = no_fields) -> None:
        self._hide = hide
        self._hide_fields = hide_fields
        self._notices = notices

    def __call__(self, entries: Sequence[LogEntry], dropped: int) -> Iterator[bytes]:
        """The lines of these entries."""
        if dropped:
            entries = [LogEntry(time.time(), "warning", "log.dropped", {"count": dropped}), *entries]
        return map(self._line, entries)

    def _line(self, entry: LogEntry) -> bytes:
        at, level, event, fields = entry
        if event == "notice" and not self._notices:
            return f"{plain(fields['message'])}\n".encode(errors="backslashreplace")
        shown = {"timestamp": datetime.fromtimestamp(at, UTC), "level": level, "event": event, **fields}
        if _NEEDS_CARE.isdisjoint(fields):  # nearly all entries
            return _encoded(shown)
        for name in _FREE_TEXT:
            if name in shown:
                shown[name] = self._hide(storable(shown[name]))
        if "fields" in shown:
            shown["fields"] = msgspec.Raw(self._hide_fields(shown["fields"]).encode())
        if "reason" in shown:  # cut after its secrets are removed: half a secret may not be recognized
            shown["reason"] = shown["reason"][:LONGEST_REASON]
        return _encoded(shown)


def _encoded(fields: Mapping[str, Any]) -> bytes:
    line = _ENCODER.encode(fields)
    if line.isascii() and _DELETE not in line:  # the encoder has escaped all other unprintable characters
        return line + b"\n"
    return _UNPRINTED.sub(_escaped, line.decode()).encode() + b"\n"


def _escaped(found: re.Match[str]) -> str:
    # Outside strings JSON is ASCII, and inside them every character has an escape.
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]
