"""How much memory there is: the machine's, or the container's share of it."""

import os
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
LEAST = 2 << 30
"""What an attempt may have in any case: on machines with less the kernel sets the bound."""


def usual_memory(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """Bytes that an attempt may have where no setting says otherwise: half of all there is."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(min([physical, *_limits(cgroups, membership)]) // 2, LEAST)


def _limits(cgroups: Path, membership: Path) -> Iterator[int]:
    """The limits of the cgroups that this process is in, of either version, and of their parents."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if not kinds:
            root, name = cgroups, "memory.max"
        elif "memory" in kinds.split(","):
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's, and only the root of it exists.
        parts = path.strip("/").split("/")
        for depth in range(len(parts) + 1):
            try:
                yield int((root.joinpath(*parts[:depth]) / name).read_text())
            except (OSError, ValueError):  # not there, or "max"
                continue
