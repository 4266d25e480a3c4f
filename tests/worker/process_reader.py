"""What a process can read of those above it; also a program that gets by JSON which ones to read.

Nothing of the tests is imported, so that no secret is in the memory of a process that imports this.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECRET = re.compile(rb"canary-7c41-(?:password|environment)")
"""What is planted; this pattern itself does not look like it."""

_AT_ONCE = 16 << 20


def ancestors(last: int) -> Iterator[int]:
    """Those above this process, up to this one and without it; it need not be among them."""
    pid = os.getppid()
    while pid not in {0, last}:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def secrets_of(pid: int) -> list[str]:
    """Where in what the kernel shows of a process there is a secret."""
    places = {
        "environ": _content(f"/proc/{pid}/environ"),
        "cmdline": _content(f"/proc/{pid}/cmdline"),
        "fd": _descriptors(pid),
        "mem": _memory(pid),
    }
    return [name for name, pieces in places.items() if any(map(SECRET.search, pieces))]


def look(params: dict[str, Any]) -> dict[str, object]:
    """What is seen of every ancestor, and of a process that hides nothing."""
    above = list(ancestors(params["last"]))
    return {
        "user": os.getuid(),
        "ancestors": above,
        "seen": {str(pid): found for pid in above if (found := secrets_of(pid))},
        "of_the_open_one": secrets_of(params["open_one"]),
    }


def _content(path: str) -> Iterator[bytes]:
    try:
        yield Path(path).read_bytes()
    except OSError:
        pass


def _descriptors(pid: int) -> Iterator[bytes]:
    """Where each leads, and what is there: a file in memory can be opened by way of its descriptor."""
    try:
        listed = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return
    for descriptor in listed:
        try:
            yield os.fsencode(descriptor.readlink())
            opened = os.open(descriptor, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            yield os.read(opened, _AT_ONCE)
        except OSError:
            pass
        finally:
            os.close(opened)


def _memory(pid: int) -> Iterator[bytes]:
    try:
        regions = Path(f"/proc/{pid}/maps").read_text().splitlines()
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except OSError:
        return
    try:
        for region in regions:
            bounds, rights, *_ = region.split()
            begin, end = (int(bound, 16) for bound in bounds.split("-"))
            if "w" not in rights:  # code and constants
                continue
            for at in range(begin, end, _AT_ONCE):
                try:
                    yield os.pread(memory, min(_AT_ONCE, end - at), at)
                except OSError:
                    break
    finally:
        os.close(memory)


if __name__ == "__main__":
    print(json.dumps(look(json.load(sys.stdin))))
