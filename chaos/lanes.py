"""The lanes that the jobs of a run are run in: one table, from which definitions and load are made."""

PROCESS = "process"
"""The lane that every definition of a run is defined for."""

COMMAND = "command"
"""The lane of programs: what is defined for it is in `program`, under the same name."""

LANES: dict[str, tuple[str, ...]] = {
    "noop": ("warm", "thread", "spawn", COMMAND),
    "sleep": ("warm", "async"),
    "fail_once": ("warm", "thread", COMMAND),
    "speak": ("warm", "thread"),
    "parent": ("warm", "thread"),
    "stubborn": ("warm", "thread", COMMAND),
    "die": ("warm", "thread", COMMAND),
    "journey": ("warm", "async"),
    "pay": ("warm", "async"),
    "charge": ("warm", "async"),
    "look": ("warm", "thread", "spawn", COMMAND),
}
"""For a definition, the lanes beside that one that it is defined for as well: there its key is `key.lane`."""


def variants(definition: str) -> dict[str, str]:
    """The keys under which a definition is known, with their lanes."""
    others = {f"{definition}.{lane}": lane for lane in LANES.get(definition, ())}
    return {definition: PROCESS, **others}
