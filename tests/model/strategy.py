"""Which request to make next: few values of each kind, so that they meet often; most of them move a job."""

from collections.abc import Iterable
from itertools import cycle
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tenure.core.model.states import FINAL, OWNED, State
from tests.model.model import WAITING
from tests.model.operator_requests import (
    PAUSABLE,
    ClaimAll,
    ClaimPastPause,
    KeepForItsKey,
    Pause,
    Prune,
    Replay,
    ReplayAgain,
    Resume,
    SetLimit,
)
from tests.model.progress_requests import (
    DRAFTS,
    WAITS,
    AnswerEffect,
    ForgetSteps,
    KeepSteps,
    ProgressInEveryWay,
    Recall,
    Suspend,
    Tell,
)
from tests.model.reads import Look, ReadOn
from tests.model.refused_leases import LeasesRefusedInEveryWay
from tests.model.requests import (
    LINES,
    OUTCOMES,
    Accept,
    Cancel,
    Enqueue,
    GiveUp,
    HandBack,
    Heartbeat,
    JobInEveryState,
    PassAround,
    Promote,
    Reap,
    Request,
    Reschedule,
    SettleAndClaim,
    UseUpSuspensions,
    Wait,
)
from tests.model.store_and_model import OWNER, Held
from tests.model.trail_requests import (
    NOTES,
    Annotate,
    FollowUp,
    ReadLogs,
    Record,
    Register,
    Spawn,
    SpawnAgain,
    UseUpNotes,
    Words,
)

T = TypeVar("T")

NOBODY = 999
FEW = 6
STARTED = set(State) - {State.CREATED, State.SCHEDULED}


class Machine(Protocol):
    """Where the jobs of a run stand."""

    def numbers_in(self, *states: State) -> list[int]: ...
    def states(self) -> set[State]: ...


def _weighted(*choices: tuple[int, SearchStrategy[T]]) -> SearchStrategy[T]:
    """One of several, some more often than others; of equals, `one_of` would make one."""
    return st.sampled_from([choice for weight, choice in choices for _ in range(weight)]).flatmap(
        lambda it: it
    )


def _job(*states: State) -> SearchStrategy[int]:
    """A job in one of the states; none if there is none."""

    def choose(machine: Machine) -> SearchStrategy[int]:
        return st.sampled_from(machine.numbers_in(*states) or [NOBODY])

    return st.runner().flatmap(choose)


def _all(*states: State) -> SearchStrategy[list[int]]:
    return st.runner().flatmap(lambda machine: st.just(machine.numbers_in(*states)))


def _jobs(*states: State) -> SearchStrategy[list[int]]:
    """Jobs that a request moves, jobs in other states, and jobs that are not there; now and then all."""
    one = st.one_of(*map(_job, states), _job(*State), st.just(NOBODY))
    few = st.lists(one, min_size=1, max_size=3)
    return _weighted((4, few), (1, _all(*State)))


# Times are multiples of ten seconds, so that much happens at the very moment when something runs out.
_pauses = st.sampled_from([0, 10, 30])
_lengths = st.sampled_from([30, 10])
_limits = st.sampled_from([100, 2, 1])
_speakers = st.sampled_from([OWNER, OWNER, "a", "b"])
_lines = st.just(list(LINES)) | st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=2, unique=True)

_targets = st.sampled_from(list(PAUSABLE))

_fields = {
    # From one to the next a few minutes' wait will do; to the third it does not in a whole run.
    "priority": st.sampled_from([0, 100, -1]),
    "key": st.sampled_from(["k1", "k2"]),
    "params": st.sampled_from(['{"to":"a"}', '{ "to": "a" }', '{"to":"b"}']),
    "hold": st.just(True),
    "max_attempts": st.sampled_from([1, 2]),
    "on_lost": st.just("bury"),
    "tags": st.sampled_from([("red",), ("blue", "red")]),
}
_line = {"line": st.sampled_from(list(LINES))}
_time = st.sampled_from([0, 10, 30])
_requested: SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(_line, optional=_fields),
    st.fixed_dictionaries({**_line, "delay": _time}, optional=_fields),
    st.fixed_dictionaries({**_line, "run_at": _time}, optional=_fields),
)
_limits_named = st.sampled_from(
    [
        (("api", "", 2),),
        (("api", "", 3),),
        (("tenant", "ann", 1),),
        (("tenant", "bob", 2), ("api", "", 2)),
    ]
)
# A limit comes without a key: whether a request that finds its key taken names its limits, is left open.
_requested_limited: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {**_line, "limits": _limits_named},
    optional={name: value for name, value in _fields.items() if name not in {"key", "hold", "params"}},
)
# An id of one's own comes alone: which of two requests in one call is to have it, the contract does not say.
_same_again: SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"line": "mail", "id": 1}, {"line": "mail", "id": 2}, {"line": "mail", "key": "k1"}]
)
_requested_by_id = st.fixed_dictionaries({**_line, "id": st.sampled_from([1, 2])}, optional=_fields)

_shown = _weighted(
    (4, st.builds(Held, _job(State.RUNNING), st.just(0))),
    (4, st.builds(Held, _job(State.CANCELLING), st.just(0))),
    (2, st.builds(Held, _job(*OWNED), st.just(1))),
    (2, st.builds(Held, _job(*STARTED - OWNED), st.just(0))),
    (1, st.just(Held(NOBODY, 0))),
)


def _shown_all(*states: State, leases_ago: int) -> SearchStrategy[list[Held]]:
    # `just`, here and below, because a failure shows what went into a `map` and not what came of it.
    return _all(*states).flatmap(lambda jobs: st.just([Held(job, leases_ago) for job in jobs]))


def _in_turn(shown: list[Held]) -> SearchStrategy[list[tuple[Held, str]]]:
    """Every kind of outcome, one after the other."""
    orders = [[*OUTCOMES][first:] + [*OUTCOMES][:first] for first in range(len(OUTCOMES))]
    return st.sampled_from([list(zip(shown, cycle(order), strict=False)) for order in orders])


_leases = _weighted(
    (4, st.lists(_shown, min_size=1, max_size=4)),
    (3, _shown_all(*OWNED, leases_ago=0)),
    (1, _shown_all(*OWNED, leases_ago=1)),
    (1, _shown_all(*State, leases_ago=0)),
)
_outcomes = st.sampled_from(list(OUTCOMES))
_reports = _weighted(
    (1, st.lists(st.tuples(_shown, _outcomes), min_size=1, max_size=4)),
    (1, _leases.flatmap(_in_turn)),
)
_more_jobs: SearchStrategy[Request] = _weighted(
    (1, st.builds(Enqueue, requested=st.lists(_requested, min_size=1, max_size=4))),
    (2, st.just(JobInEveryState())),
)
_reasons = st.sampled_from([None, "no need"])


def _claims(by: SearchStrategy[str], limit: SearchStrategy[int]) -> SearchStrategy[SettleAndClaim]:
    return st.builds(SettleAndClaim, by=by, ended=st.just([]), lines=_lines, limit=limit, lease_for=_lengths)


_turns = st.builds(
    SettleAndClaim, by=_speakers, ended=_reports, lines=_lines, limit=st.just(0) | _limits, lease_for=_lengths
)
_narrowed = {
    "definition": st.sampled_from(["mail", "post"]),
    "queue": st.sampled_from(["default", "slow"]),
    "tag": st.sampled_from(["red", "blue"]),
}
_looks = st.builds(
    Look,
    states=st.lists(st.sampled_from(list(State)), max_size=4, unique=True),
    by=st.fixed_dictionaries({}, optional=_narrowed),
    newest_first=st.booleans(),
    limit=st.sampled_from([3, 50]),
)
# After success, after another end, with a key.
_kept_for = st.sampled_from([(10, 30, 60), (0, 0, 30), (30, 60, 10)])
_progress = st.sampled_from([None, (0.5, ""), (1.0, "done")])
_pulses = st.builds(Heartbeat, by=_speakers, shown=_leases, lease_for=_lengths, progress=_progress)

_children = st.lists(
    st.fixed_dictionaries(_line, optional={name: _fields[name] for name in ("priority", "key", "params")}),
    max_size=3,
)
_trails = st.builds(
    Record,
    by=_speakers,
    shown=_leases,
    lines=st.lists(st.sampled_from([1, 2, 3]), max_size=2),
    notes=st.lists(st.sampled_from(list(NOTES)), max_size=2),
)


def _each_with(choices: Iterable[str]) -> SearchStrategy[list[tuple[Held, str]]]:
    """Leases, each with one of several."""
    return st.lists(st.tuples(_shown, st.sampled_from(list(choices))), min_size=1, max_size=4)


_STOPPED = [State.SUSPENDED, *FINAL]

_USEFUL: list[tuple[int, Iterable[State], SearchStrategy[Request]]] = [
    (14, OWNED, _turns),
    (10, [State.QUEUED], _claims(st.sampled_from(["a", "b"]), _limits)),
    (6, OWNED, _pulses),
    (4, OWNED, st.builds(HandBack, by=_speakers, unstarted=_leases, killed=st.just([]))),
    (4, OWNED, st.builds(HandBack, by=_speakers, unstarted=st.just([]), killed=_leases)),
    (6, WAITING, st.builds(Promote, after=_pauses, limit=_limits)),
    (4, OWNED, st.builds(Reap, after=_pauses, limit=_limits)),
    (
        3,
        State,
        st.builds(Enqueue, requested=st.lists(_same_again | _requested_by_id, min_size=1, max_size=1)),
    ),
    (5, State, st.builds(Enqueue, requested=st.lists(_requested_limited, min_size=2, max_size=5))),
    (5, State, st.builds(SetLimit, name=st.sampled_from(["api", "tenant"]), size=st.sampled_from([1, 2, 4]))),
    (4, [State.QUEUED], st.builds(ClaimAll, lines=_lines)),
    (3, State, st.builds(Pause, target=_targets, seconds=st.sampled_from([10, 30, None, 0]))),
    (
        4,
        State,
        st.builds(Resume, targets=st.just(list(PAUSABLE)) | st.lists(_targets, min_size=1, max_size=1)),
    ),
    (4, State, _looks),
    (3, State, st.builds(ReadOn, limit=st.sampled_from([7, 50]))),
    (4, State, st.builds(Replay, jobs=_jobs(*FINAL), forced=st.booleans())),
    (1, State, st.just(KeepForItsKey())),
    (1, State, st.just(ReplayAgain())),
    (1, State, st.just(SpawnAgain())),
    (1, State, st.just(ClaimPastPause())),
    (2, State, st.builds(Prune, after=_pauses, kept_for=_kept_for, limit=st.sampled_from([5, 1000]))),
    (2, State, st.builds(Wait, seconds=st.sampled_from([10, 30]))),
    (5, State, st.builds(Accept, jobs=_jobs(State.CREATED, State.SCHEDULED))),
    (5, State, st.builds(Cancel, jobs=_jobs(State.RUNNING, *WAITING), reason=_reasons)),
    (4, State, st.builds(GiveUp, jobs=_jobs(State.RETRYING))),
    (
        4,
        State,
        st.builds(
            Reschedule,
            jobs=_jobs(State.SCHEDULED, State.RETRYING),
            seconds=st.sampled_from([None, 0, 5, 60]),
            as_time=st.booleans(),
        ),
    ),
    (4, [State.QUEUED], st.builds(PassAround, times=st.sampled_from([1, 23]), killed=st.booleans())),
    (5, OWNED, _trails),
    (5, OWNED, st.builds(Spawn, by=_speakers, shown=_shown, requested=_children)),
    (3, State, st.builds(Annotate, shown=st.lists(_shown, max_size=3), unclaimed=_jobs(*State))),
    (
        2,
        State,
        st.builds(ReadLogs, jobs=_jobs(*State), only_last=st.booleans(), limit=st.sampled_from([1, 100])),
    ),
    (3, State, st.builds(FollowUp, lines=_lines, limit=_limits)),
    (2, State, st.builds(Register, hooked=st.lists(st.sampled_from(["mail", "post"]), unique=True))),
    (2, State, _all(*State).flatmap(lambda jobs: st.just(Words(jobs)))),
    (5, OWNED, st.builds(KeepSteps, by=_speakers, kept=_each_with(DRAFTS))),
    (4, OWNED, st.builds(Suspend, by=_speakers, waits=_each_with(WAITS))),
    (3, OWNED, st.builds(Recall, by=_speakers, shown=_leases)),
    (2, OWNED, st.builds(ForgetSteps, by=_speakers, shown=_leases, prefix=st.sampled_from(["", "ch"]))),
    (
        4,
        State,
        st.builds(
            Tell,
            jobs=_jobs(State.SUSPENDED, State.RUNNING),
            name=st.sampled_from(["approved", "late"]),
            body=st.sampled_from(["true", "1"]),
        ),
    ),
    (3, State, st.builds(AnswerEffect, jobs=_jobs(*_STOPPED), happened=st.booleans())),
    (1, State, st.just(ProgressInEveryWay())),
    (1, State, st.just(LeasesRefusedInEveryWay())),
    (1, [State.RUNNING], st.builds(UseUpNotes, jobs=_jobs(State.RUNNING))),
    (1, [State.RUNNING], st.builds(UseUpSuspensions, jobs=_jobs(State.RUNNING))),
]
"""Each kind of request: how often, in which states there must be a job, and what to ask."""


def _useful(machine: Machine) -> SearchStrategy[Request]:
    is_quiet = len(machine.numbers_in(*set(State) - FINAL)) < FEW
    found = machine.states()
    present = [(often, ask) for often, states, ask in _USEFUL if not found.isdisjoint(states)]
    # Where jobs are few, more are likely but not certain: a failure is shown with no more than it needs.
    return _weighted(*present, (200, _more_jobs)) if is_quiet else _weighted(*present)


requests: SearchStrategy[Request] = st.runner().flatmap(_useful)
