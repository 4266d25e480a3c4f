"""The lanes: how attempts of a definition may run. One row for each; all other modules read it here."""

from typing import Literal

from msgspec import Struct

PROCESS = "process"
WARM = "warm"
ASYNC = "async"
THREAD = "thread"
COMMAND = "command"
SPAWN = "spawn"


class LaneTraits(Struct, frozen=True):
    """One lane.

    `isolation` says how it keeps attempts apart. `slots` names the setting of its slots, which it shares with
    the other lanes of its `slot_group`. `is_shared`: its attempts run beside others in one process. `moment`
    is how many seconds of measured work a worker may claim ahead. `takes` is the kind of handler it runs.
    """

    name: str
    isolation: str
    slots: str
    slot_group: str
    is_shared: bool = False
    moment: float = 0.2
    takes: Literal["any function", "async def", "plain def", "program"] = "any function"


# A fresh process for every attempt costs the same whatever it is for, so these lanes share their slots. A
# child that is kept, a task and a thread each cost something else: they have slots of their own.
_ROWS = (
    LaneTraits(PROCESS, "a fresh process for every attempt", "slots", PROCESS, moment=0.05),
    LaneTraits(WARM, "a process that is used again, one attempt at a time", "warm_slots", WARM),
    LaneTraits(
        *(ASYNC, "one process for many attempts, on an event loop", "async_slots", ASYNC),
        is_shared=True,
        takes="async def",
    ),
    LaneTraits(
        *(THREAD, "one process for many attempts, each in a thread", "thread_slots", THREAD),
        is_shared=True,
        takes="plain def",
    ),
    LaneTraits(
        *(COMMAND, "a program, in a fresh process for every attempt", "slots", PROCESS),
        moment=0.05,
        takes="program",
    ),
    LaneTraits(
        *(SPAWN, "a fresh process for every attempt, which imports the app anew", "slots", PROCESS),
        moment=0.05,
    ),
)

LANES = {lane.name: lane for lane in _ROWS}
"""Every lane by name."""
