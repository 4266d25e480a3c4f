"""Separates a program's result from the log lines on its standard output, as they come.

The result is the last JSON text that stands on a line of its own, or on several if it is printed for people:
from a line that is a bare `{` or `[` to one that is a bare `}` or `]`. Such a text is held back until another
one comes, since it may be the last; every other line is passed on at once.
"""

import json
import re
from collections.abc import Callable

from tenure.core.values.document_faults import LARGEST_DOCUMENT

_OPENING = (b"{", b"[")
_CLOSING = (b"}", b"]")
_MAY_BE_JSON = re.compile(rb'\s*(?:[\[{"tfn]|-?[0-9])')


class StdoutResult:
    """Takes in the output of one program; `pass_on` is called with what belongs in the log.

    It never holds more than the largest result, whatever is printed.
    """

    def __init__(self, pass_on: Callable[[bytes], None]) -> None:
        self.result: bytes | None = None
        """The last JSON text so far."""
        self.is_too_large = False
        """The last JSON text was too long for a result, and was passed on."""
        self._pass_on = pass_on
        self._line = bytearray()
        self._is_passing = False
        self._block: list[bytes] = []
        self._block_size = 0
        self._is_beyond = False

    def feed(self, data: bytes) -> None:
        """Take in some bytes."""
        first, *others = data.split(b"\n")
        self._append(first)
        for piece in others:
            self._end_line()
            self._append(piece)

    def close(self) -> None:
        """Take in what follows the last newline; a text that was never closed is no JSON."""
        if self._line or self._is_passing:
            self._end_line()
        self._dissolve()

    def withdraw(self) -> None:
        """Treat the last JSON text as a line like any other."""
        if self.result is not None:
            self._pass_on(self.result + b"\n")
            self.result = None

    def _append(self, piece: bytes) -> None:
        if self._is_passing:
            self._pass_on(piece)
            return
        self._line += piece
        if self._block_size + len(self._line) > LARGEST_DOCUMENT:
            self._give_up()

    def _give_up(self) -> None:
        """Pass on what is too long for a result, and the rest of it as it comes."""
        begun = b"\n".join([*self._block, bytes(self._line)])
        if begun.lstrip()[:1] in _OPENING:
            self.withdraw()
            self.is_too_large = True
        self._is_beyond = bool(self._block)  # what follows belongs to it, even if it looks like JSON
        self._clear_block()
        self._line.clear()
        self._pass_on(begun)
        self._is_passing = True

    def _end_line(self) -> None:
        if self._is_passing:
            self._is_passing = False
            self._pass_on(b"\n")
            return
        line = bytes(self._line)
        self._line.clear()
        if self._is_beyond:
            self._is_beyond = line.rstrip() not in _CLOSING
            self._pass_on(line + b"\n")
        elif self._block or line.rstrip() in _OPENING:
            self._take_into_block(line)
        else:
            self._take(line)

    def _take_into_block(self, line: bytes) -> None:
        self._block.append(line)
        self._block_size += len(line) + 1
        if line.rstrip() not in _CLOSING:
            return
        if _is_json(whole := b"\n".join(self._block)):
            self._clear_block()
            self._hold(whole)
        else:
            self._dissolve()

    def _dissolve(self) -> None:
        """Take the lines of the block one by one: together they are no JSON."""
        lines = tuple(self._block)
        self._clear_block()
        for line in lines:
            self._take(line)

    def _clear_block(self) -> None:
        self._block.clear()
        self._block_size = 0

    def _take(self, line: bytes) -> None:
        if _is_json(line):
            self._hold(line)
        else:
            self._pass_on(line + b"\n")

    def _hold(self, text: bytes) -> None:
        self.withdraw()
        self.result = text
        self.is_too_large = False


def _is_json(text: bytes) -> bool:
    """Whether this is meant as JSON; NaN and repeated keys in it are refused later."""
    if not _MAY_BE_JSON.match(text):
        return False
    try:
        json.loads(text.decode())
    except RecursionError:
        return True
    except ValueError:
        return False
    return True
