"""The output of an attempt, as numbered log lines: bounded, and safe to show on a terminal."""

from collections.abc import Callable
from datetime import UTC, datetime

from tenure.core.model.trail import LogLine
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure

MOST_LINES = 10_000
MOST_BYTES = 1 << 20
LONGEST_LINE = 8_192

CUT = "…"
"""Stands at the end of a line whose rest was dropped."""

STREAMS = ("stdout", "stderr")
"""The streams of an attempt, which are levels of its log lines too."""

_NAMED = {ord("\n"): "\\n", ord("\r"): "\\r"}
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_ESCAPED = {
    code: _NAMED.get(code, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}") for code in _CONTROLS
}
del _ESCAPED[ord("\t")]


class Journal:
    """Numbers the lines of one attempt and passes them on."""

    def __init__(self, on_line: Callable[[LogLine], None]) -> None:
        self._on_line = on_line
        self._count = 0

    def add(self, level: str, text: str, fields: Document | None = None) -> None:
        """Pass on one line. Control characters are escaped: no terminal is to obey them."""
        self._count += 1
        self._on_line(LogLine(self._count, datetime.now(UTC), level, text.translate(_ESCAPED), fields))

    def warn_handed_back(self, error: Failure) -> None:
        """Log that the attempt is handed back, and why."""
        self.add("warning", f"{error.message}; it is handed back")


class Budget:
    """How much one source may still log; when it is used up, a warning says so once."""

    def __init__(self, journal: Journal, source: str) -> None:
        self._journal = journal
        self._source = source
        self._lines = MOST_LINES
        self._bytes = MOST_BYTES
        self.is_spent = False

    def add(self, level: str, text: str, fields: Document | None = None) -> None:
        """Pass on a line if the budget allows it."""
        if self.is_spent:
            return
        self._lines -= 1
        self._bytes -= len(text.encode(errors="replace")) + len(fields or "")
        if self._lines >= 0 and self._bytes >= 0:
            self._journal.add(level, text, fields)
            return
        self.is_spent = True
        bounds = f"{MOST_LINES:,} lines or {MOST_BYTES:,} bytes"
        self._journal.add("warning", f"{self._source} was more than {bounds}; the rest is dropped {CUT}")


class OutputStream:
    """Cuts the bytes of stdout or stderr into lines; holds no more than the longest one."""

    def __init__(self, level: str, budget: Budget) -> None:
        self._level = level
        self._budget = budget
        self._line = bytearray()
        self._is_cut = False

    def feed(self, data: bytes) -> None:
        """Take in some bytes."""
        first, *others = data.split(b"\n")
        self._append(first)
        for piece in others:
            if self._budget.is_spent:  # dropping must cost the worker no time
                return
            self._end_line()
            self._append(piece)

    def close(self) -> None:
        """Pass on what follows the last newline."""
        if self._line:
            self._end_line()

    def _append(self, piece: bytes) -> None:
        room = LONGEST_LINE - len(self._line)
        self._line += piece[:room]
        self._is_cut |= len(piece) > room

    def _end_line(self) -> None:
        text = self._line.decode(errors="replace").removesuffix("\r")
        self._budget.add(self._level, text + CUT if self._is_cut else text)
        self._line.clear()
        self._is_cut = False


def output_streams(journal: Journal) -> dict[str, OutputStream]:
    """The streams of one attempt, which share one budget."""
    budget = Budget(journal, "the output")
    return {level: OutputStream(level, budget) for level in STREAMS}
