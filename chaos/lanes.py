"""The lanes that the jobs of a run are run in: one table, from which definitions and load are made."""

PROCESS = "process"
"""The lane that every definition of a run is defined for."""

LANES: dict[str, tuple[str, ...]] = {
    "noop": ("warm", "thread", "spawn"),
    "sleep": ("warm", "async"),
    "fail_once": ("warm", "thread"),
    "speak": ("warm", "thread"),
    "parent": ("warm", "thread"),
    "stubborn": ("warm", "thread"),
    "die": ("warm", "thread"),
}
"""For a definition, the lanes beside that one that it is defined for as well: there its key is `key.lane`."""


def variants(definition: str) -> dict[str, str]:
    """The keys under which a definition is known, with their lanes."""
    others = {f"{definition}.{lane}": lane for lane in LANES.get(definition, ())}
    return {definition: PROCESS, **others}
