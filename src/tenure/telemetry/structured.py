"""Entries as JSON, one object on a line, for programs. structlog is loaded by who writes the first.

Whatever a name or a message holds, a line stays one line: what cannot be printed is escaped.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec

from tenure.core.text import plain, storable
from tenure.telemetry.logs import LEVELS, Entry

LONGEST_REASON = 2_000
"""Characters of a reason."""

_FIRST = ("timestamp", "level", "event")
_UNPRINTED = re.compile(r"[^\x20-\x7e]")
_DELETE = b"\x7f"
_ENCODER = msgspec.json.Encoder()

Hide = Callable[[str], str]
"""Leaves out of a text what nobody is to see."""


class Structured:
    """A form for an outlet. With `notices` those are JSON, too; else they are plain lines, for people."""

    def __init__(self, hide: Hide, *, notices: bool) -> None:
        self._hide = hide
        self._notices = notices
        self._lines: list[bytes] = []
        self._logger: Any = None

    def __call__(self, entries: Sequence[Entry], dropped: int) -> list[bytes]:
        """The lines of these entries."""
        if dropped:
            entries = [Entry(time.time(), "warning", "log.dropped", {"count": dropped}), *entries]
        self._lines.clear()
        for at, level, event, fields in entries:
            if event == "notice" and not self._notices:
                self._lines.append(f"{plain(fields['message'])}\n".encode(errors="backslashreplace"))
                continue
            moment = datetime.fromtimestamp(at, UTC)
            if event == "attempt.settled" and "reason" not in fields:
                # There may be thousands of these in a second, and nobody else's words are in them: all that
                # the other way does is to take three times as long.
                self._lines.append(_encoded({"timestamp": moment, "level": level, "event": event, **fields}))
                continue
            if self._logger is None:
                self._logger = self._made()
            getattr(self._logger, level)(event, timestamp=moment, **fields)
        return self._lines

    def _made(self) -> Any:
        import structlog

        return structlog.wrap_logger(
            SimpleNamespace(**dict.fromkeys(LEVELS, self._lines.append)),
            processors=[
                structlog.processors.add_log_level,
                self._shown,
                structlog.processors.JSONRenderer(serializer=_encoded),
            ],
            wrapper_class=structlog.BoundLogger,
        ).bind()

    def _shown(self, _logger: object, _method: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """The fields in order, without secrets, and none of them longer than anybody wants to read."""
        fields = {name: said[name] for name in _FIRST} | dict(said)
        for name in fields.keys() & {"reason", "error", "message"}:
            fields[name] = self._hide(storable(fields[name]))
        if "reason" in fields:
            fields["reason"] = fields["reason"][:LONGEST_REASON]
        return fields


def _encoded(fields: Mapping[str, Any], **_: object) -> bytes:
    line = _ENCODER.encode(fields)
    if line.isascii() and _DELETE not in line:  # what else cannot be printed the encoder has escaped
        return line + b"\n"
    return _UNPRINTED.sub(_escaped, line.decode()).encode() + b"\n"


def _escaped(found: re.Match[str]) -> str:
    # Outside of strings JSON is ASCII, and inside of them every character has an escape.
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]
