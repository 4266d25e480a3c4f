"""Fingerprints of failures: equal for failures with the same cause, by where they were raised and why.

What differs from job to job or from machine to machine is left out: line numbers, directories, ids,
addresses, numbers and quoted values. So is everything before the exception that ended the attempt.
"""

import re

from tenure.core.errors import InvalidInput
from tenure.core.values.failure import Failure
from tenure.core.values.text import storable

UNKNOWN = "0" * 12
"""The fingerprint of a dead letter without an error of its own."""

MOST_FRAMES = 8
LONGEST_SHAPE = 300
LONGEST_LOOK = 65_536
"""How much of a traceback is read, from its end."""

PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}:[0-9a-f]{12}$"
"""A fingerprint in full: the definition, then the failure."""

_RAISED = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_FRAME = re.compile(r'File "([^"\n]*)", line \d+, in (\S+)')
_VARYING = (
    (re.compile(r"""(?<!\w)(["'`])[^\n]*?\1(?!\w)"""), "'…'"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://\S+"), "url"),
    (re.compile(r"(?<!\w)/(?:[^\s/:]+/)+"), ""),
    (re.compile(r"\b(?=[A-Fa-f-]*\d)[0-9A-Fa-f]{8,}(?:-[0-9A-Fa-f]{2,})*\b"), "#"),
    (re.compile(r"0x[0-9A-Fa-f]+"), "#"),
    (re.compile(r"\d+"), "#"),
    (re.compile(r"\s+"), " "),
)


def of(definition: str, error: Failure | None) -> str:
    """The fingerprint by which a dead letter of a definition is found."""
    return f"{definition}:{UNKNOWN if error is None else fingerprint(error)}"


def fingerprint(error: Failure) -> str:
    """The same twelve hexadecimal digits for failures with the same cause."""
    # A process that is forked for every attempt has this module, and does not need that library.
    from hashlib import blake2b

    parts = [storable(error.kind), _shape(storable(error.message))]
    parts += _frames(storable((error.traceback or "")[-LONGEST_LOOK:]))
    return blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def check(field: str, value: object) -> None:
    """Refuse what cannot be a fingerprint."""
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise InvalidInput(field, "is not a fingerprint", "copy it from a group of dead letters")


def _shape(text: str) -> str:
    """The first line, without what varies."""
    shape = text.strip().partition("\n")[0][:LONGEST_SHAPE]
    for varying, instead in _VARYING:
        shape = varying.sub(instead, shape)
    return shape.strip()


def _frames(traceback: str) -> list[str]:
    """The innermost frames of the last exception; for another language's traceback, its last lines."""
    raised = _RAISED.split(traceback)[-1]
    frames = [f"{'/'.join(_parts(path)[-2:])} {name}" for path, name in _FRAME.findall(raised)]
    if not frames:
        frames = [_shape(line) for line in raised.splitlines() if line.strip()]
    # A recursion counts once, however deep it went.
    turns = [frame for place, frame in enumerate(frames) if frames[place - 1 : place] != [frame]]
    return turns[-MOST_FRAMES:]


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")
