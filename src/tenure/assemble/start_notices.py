"""What a worker says at its start: how it isolates attempts, and what limits they have."""

import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

from tenure.core.model.lanes import LANES, PROCESS
from tenure.core.model.spec import Spec
from tenure.core.values.urls import masked_argument
from tenure.engine.config import default_limits
from tenure.execution.protocol import kernel
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.execution.protocol.messages import OWN
from tenure.settings.settings import Settings

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
    "isolation: attempts can kill each other: this kernel cannot prevent it, as Linux 6.12 can with Landlock"
)


def start_notices(specs: Sequence[Spec], settings: Settings, *, user: str | None) -> Iterator[str]:
    """The lines of a worker that serves these definitions, whose attempts run as `user` or as itself."""
    yield from isolation(specs, is_root=os.geteuid() == 0 and user is None, user=user)
    if settings.child_signals == OWN and not kernel.can_keep_signals():
        yield OPEN_TO_SIGNALS
    yield limits(default_limits(settings))
    if _arguments_show_a_secret():
        yield SHOWN


def limits(usual: ResourceLimits) -> str:
    """The line on what an attempt may take where its definition does not say."""
    parts = (
        ("memory", usual.memory and f"{usual.memory >> 20:,} MiB", "TENURE_CHILD_MEMORY_BYTES"),
        ("open files", usual.files and f"{usual.files:,}", "TENURE_CHILD_FILES"),
        ("size of a file", usual.file_size and f"{usual.file_size >> 20:,} MiB", "TENURE_CHILD_FILE_BYTES"),
    )
    texts = ", ".join(f"{name} {value or 'any'} ({setting})" for name, value, setting in parts)
    return f"isolation: limits of an attempt, unless its definition says otherwise: {texts}"


def isolation(specs: Sequence[Spec], *, is_root: bool, user: str | None = None) -> Iterator[str]:
    """The lines for the definitions that a worker serves, whose attempts are root's or a `user`'s."""
    # The strongest isolation first: the lanes with a fresh process for every attempt.
    for lane in sorted(LANES.values(), key=lambda lane: lane.slot_group != PROCESS):
        if names := ", ".join(_name(spec) for spec in specs if spec.lane == lane.name):
            yield f"isolation: {lane.name} ({lane.isolation}): {names}"
    if user is not None:
        yield f"isolation: attempts run as {user}"
    if is_root:
        yield READABLE
    limited = [_name(spec) for spec in specs if any(getattr(spec, field) for field in CEILINGS)]
    if limited and is_root:
        yield f"isolation: attempts run as root, which may lift the limits of {', '.join(limited)}"
    yield from _reduced(specs)


def _reduced(specs: Sequence[Spec]) -> Iterator[str]:
    """Limits that definitions ask for and this machine does not allow."""
    for field, kind in CEILINGS.items():
        _, ceiling = resource.getrlimit(kind)
        for spec in specs:
            wanted = getattr(spec, field)
            if wanted is not None and ceiling != resource.RLIM_INFINITY and wanted > ceiling:
                name = _name(spec)
                yield f"isolation: {field} of {name} is {ceiling}, not {wanted}: this machine allows no more"


def _arguments_show_a_secret() -> bool:
    """Whether the process could not be started again without the secrets in its arguments."""
    arguments = os.fsdecode(Path("/proc/self/cmdline").read_bytes())
    return any(masked_argument(one) != one for one in arguments.split("\0"))


def _name(spec: Spec) -> str:
    return f"{spec.key}@{spec.version}"
