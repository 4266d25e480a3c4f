"""How a worker keeps attempts apart, as it says at its start: a line for each lane, and what is reduced."""

import resource
from collections.abc import Iterator, Sequence

from tenure.core.spec import Spec
from tenure.execution.assignment import Limits

MEANINGS = {
    "process": "a fresh process for every attempt",
    "command": "a program, in a fresh process for every attempt",
    "spawn": "a fresh process for every attempt, which imports the app anew",
    "warm": "a process that is used again, one attempt at a time",
    "async": "one process for many attempts, on an event loop",
    "thread": "one process for many attempts, each in a thread",
}
"""What each lane is, in the order in which they are told: those that keep attempts apart the most first."""

CEILINGS = {"memory": resource.RLIMIT_DATA, "cpu": resource.RLIMIT_CPU, "files": resource.RLIMIT_NOFILE}
"""The kernel's limit behind each of a definition's."""


READABLE = (
    "isolation: attempts run as root and can read this process, the database's password included; "
    "TENURE_CHILD_USER gives them another user"
)
SHOWN = (
    "isolation: the database's password is among the arguments of this process, which everybody on this "
    "machine can read; give the address as TENURE_DATABASE"
)
OPEN_TO_SIGNALS = (
    "isolation: attempts can kill each other: this kernel cannot keep them from it, as Linux 6.12 can with "
    "Landlock"
)


def limits(usual: Limits) -> str:
    """The line for what an attempt may take where its definition does not say."""
    parts = (
        ("memory", usual.memory and f"{usual.memory >> 20:,} MiB", "TENURE_CHILD_MEMORY_BYTES"),
        ("open files", usual.files and f"{usual.files:,}", "TENURE_CHILD_FILES"),
        ("size of a file", usual.file_size and f"{usual.file_size >> 20:,} MiB", "TENURE_CHILD_FILE_BYTES"),
    )
    said = ", ".join(f"{name} {value or 'any'} ({setting})" for name, value, setting in parts)
    return f"isolation: limits of an attempt, unless its definition says otherwise: {said}"


def isolation(specs: Sequence[Spec], *, is_root: bool, user: str | None = None) -> Iterator[str]:
    """The lines for the definitions that a worker serves, whose attempts are root's or a `user`'s."""
    for lane, meaning in MEANINGS.items():
        if names := ", ".join(_name(spec) for spec in specs if spec.lane == lane):
            yield f"isolation: {lane} ({meaning}): {names}"
    if user is not None:
        yield f"isolation: attempts run as {user}"
    if is_root:
        yield READABLE
    limited = [_name(spec) for spec in specs if any(getattr(spec, field) for field in CEILINGS)]
    if limited and is_root:
        yield f"isolation: attempts run as root, who may lift the limits of {', '.join(limited)}"
    yield from _reduced(specs)


def _reduced(specs: Sequence[Spec]) -> Iterator[str]:
    """What definitions ask for and cannot have here."""
    for field, kind in CEILINGS.items():
        _, ceiling = resource.getrlimit(kind)
        for spec in specs:
            asked = getattr(spec, field)
            if asked is not None and ceiling != resource.RLIM_INFINITY and asked > ceiling:
                yield f"isolation: {field} of {_name(spec)} is {ceiling}, not {asked}: there is no more here"


def _name(spec: Spec) -> str:
    return f"{spec.key}@{spec.version}"
