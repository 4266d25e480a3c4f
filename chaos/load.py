"""What the client of a run asks for, and when: made from a seed alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal

from msgspec import Struct

from chaos import lanes

Verb = Literal["enqueue", "batch", "cancel", "hold", "stop", "replay"]


class Wanted(Struct, frozen=True):
    """One job, known by its key from before it exists."""

    key: str
    definition: str
    params: dict[str, Any] = {}
    delay: float | None = None
    priority: int = 0
    hold: bool = False
    told_after: float | None = None
    """How many seconds after it was recorded the job is sent its signal; None for one that waits in vain."""


class Ask(Struct, frozen=True):
    """A call of the client's, so many seconds after the beginning.

    `hold` is to record a job and then accept it, `stop` to wait until it runs and then cancel it.
    """

    at: float
    verb: Verb
    wanted: tuple[Wanted, ...]


USUAL: dict[str, float] = {
    "noop": 52,
    "sleep": 14,
    "fail_once": 8,
    "limited": 6,
    "parent": 4,
    "speak": 4,
    "fail_always": 3,
    "die": 3,
    "once": 3,
    "snooze": 3,
    "journey": 5,
    "pay": 4,
    "charge": 3,
}
"""Definitions by how often they come."""

BUSY: dict[str, float] = {**USUAL, "noop": 20, "fail_once": 14, "parent": 16, "speak": 16, "snooze": 8}
"""The same for who wants every step of a worker's to be taken often: notes, children, waits."""

HOSTILE: dict[str, float] = {
    "daemonise": 3,
    "bomb": 2,
    "flood": 2,
    "hungry": 2,
    "mute": 2,
    "garble": 2,
    "hang_up": 1,
    "freeze": 2,
    "kill_zygote": 1,
    "kill_worker": 1,
}
"""Those that attack whoever runs them."""

INSIDIOUS: dict[str, float] = {
    **{name: weight for name, weight in HOSTILE.items() if name != "kill_worker"},
    "kill_guard": 2,
}
"""The same where no worker is killed: with guard and worker dead at once, nobody ends what a child left."""

LOOKERS = "look"
"""The definition whose jobs write down what is around them; each lane has one, whatever the dice say."""

TOLD = "journey"
"""The definition whose jobs are sent a signal."""

PASSWORD = "planted-in-params-5d81c0"  # noqa: S105
"""A secret in the params of jobs, under a name that is not shown."""

_STUBBORN = {"seconds": 30.0, "password": PASSWORD}
_CALLS: dict[Verb, float] = {"enqueue": 60, "batch": 14, "cancel": 12, "hold": 6, "replay": 4}
_TIMED = frozenset({"sleep", "limited", "once"})


def plan(
    seed: int,
    *,
    seconds: float,
    calls: int,
    usual: Mapping[str, float] = USUAL,
    attacks: Mapping[str, float] | None = None,
) -> list[Ask]:
    """The calls of a run, by time. A job that will not stop is stopped in every lane that has one."""
    attacks = attacks or {}
    random = Random(f"load {seed}")
    names = _Names(seed)
    mix = {**usual, **attacks}
    times = sorted(random.uniform(0, seconds) for _ in range(calls))
    asks = [_ask(random, at, names, mix) for at in times]
    stops = _variants(["stubborn"])
    for number, definition in enumerate(stops):
        stubborn = Wanted(names.new(), definition, _STUBBORN)
        asks.append(Ask(seconds * (number + 0.5) / len(stops), "stop", (stubborn,)))
    # Each attack and each lane at least once, whatever the dice say.
    others = [key for key in _variants(usual) if key not in usual]
    asks += [
        Ask(
            random.uniform(0, seconds),
            "enqueue",
            (Wanted(names.new(), definition, _params(random, definition)),),
        )
        for definition in (*attacks, *others, *_variants([LOOKERS]))
    ]
    return sorted(asks, key=lambda ask: ask.at)


def divided(asks: Sequence[Ask], clients: int) -> list[list[Ask]]:
    """The calls of each client: the first has half of them, the others share the rest.

    Who asked for a job is who cancels or replays it. To wait until a job runs is the first one's affair.
    """
    shares: list[list[Ask]] = [[] for _ in range(clients)]
    owner: dict[str, int] = {}
    for number, ask in enumerate(asks):
        if ask.verb in {"cancel", "replay"}:
            whose = owner.get(ask.wanted[0].key, 0) if ask.wanted else 0
        elif ask.verb == "stop" or clients == 1 or number % 2 == 0:
            whose = 0
        else:
            whose = 1 + number // 2 % (clients - 1)
        owner.update(dict.fromkeys((one.key for one in ask.wanted), whose))
        shares[whose].append(ask)
    return shares


def last_to_stop(seed: int) -> Wanted:
    """One more job that will not stop."""
    return Wanted(f"{seed}-last", "stubborn", _STUBBORN)


def unnamed(seed: int, number: int) -> Wanted:
    """One more job of which no message tells."""
    return Wanted(f"{seed}-unnamed-{number}", "noop")


class _Names:
    """Keys that no other job has; and those that were given out."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.given: list[str] = []

    def new(self) -> str:
        self.given.append(f"{self._seed}-{len(self.given)}")
        return self.given[-1]

    def old(self, random: Random) -> Iterator[str]:
        """One of the last few; none in the beginning."""
        if self.given:
            yield random.choice(self.given[-40:])


def _ask(random: Random, at: float, names: _Names, mix: dict[str, float]) -> Ask:
    verb: Verb = random.choices(list(_CALLS), list(_CALLS.values()))[0]
    match verb:
        case "cancel" | "replay":
            return Ask(at, verb, tuple(Wanted(key, "") for key in names.old(random)))
        case "batch":
            return Ask(at, verb, tuple(_wanted(random, names, mix) for _ in range(random.randint(2, 8))))
        case _:
            return Ask(at, verb, (_wanted(random, names, mix, hold=verb == "hold"),))


def _wanted(random: Random, names: _Names, mix: dict[str, float], *, hold: bool = False) -> Wanted:
    definition = random.choice(_variants(random.choices(list(mix), list(mix.values()))))
    params = _params(random, definition)
    delay = round(random.uniform(0.05, 1.0), 3) if random.random() < 0.15 else None
    told = round(random.uniform(0.0, 1.5), 3) if definition.partition(".")[0] == TOLD else None
    return Wanted(names.new(), definition, params, delay, random.choice((0, 0, 0, 5, -5)), hold, told)


def _variants(definitions: Iterable[str]) -> list[str]:
    """The keys of definitions, for every lane that they run in."""
    return [key for definition in definitions for key in lanes.variants(definition)]


def _params(random: Random, key: str) -> dict[str, Any]:
    is_timed = key.partition(".")[0] in _TIMED
    return {"seconds": round(random.uniform(0.05, 0.5), 3), "password": PASSWORD} if is_timed else {}


def jobs_of(asks: Sequence[Ask]) -> int:
    """How many jobs a plan asks for."""
    return sum(len(ask.wanted) for ask in asks if ask.verb in {"enqueue", "batch", "hold", "stop"})
