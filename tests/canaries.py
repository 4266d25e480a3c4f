"""Secrets that the suite plants wherever a secret may be, and the search for them in all output.

They stand in the environment of every process that tests start, in the password of PostgreSQL's address, and
in the params of jobs under names that hide their values; access keys are secrets of their own. A test in
which one of them is seen fails, whatever else it is about: `tests.wiretap` brings here what processes write
and servers answer.
"""

from tenure.core.values import key_text

STEM = "canary-7c41-"
"""What all of them begin with: one that is cut short is seen, too."""

ENVIRONMENT = f"{STEM}environment"
PASSWORD = f"{STEM}password"
PARAM = f"{STEM}param"

VARIABLE = "TENURE_TEST_CANARY"

seen: list[str] = []
"""Where one was seen since the last `take_seen`."""


def look(where: str, said: str | bytes, *, may_show_a_key: bool = False) -> None:
    """Remember if a text holds a canary, or an access key where none may be."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    if STEM in text:
        at = text.index(STEM)
        seen.append(f"{where}: …{text[max(0, at - 200) : at + 60]!r}")
    if key_text.PREFIX in text and not may_show_a_key:
        keys = (found[0] for found in key_text.PATTERN.finditer(text))
        seen.extend(f"{where}: a key, {key[:14]}…" for key in keys if key_text.read(key))


def take_seen() -> list[str]:
    """What was seen, which is forgotten now."""
    taken = seen[:]
    seen.clear()
    return taken
