"""The campaign that counts: what it is after next, when it is done, and what it gives up."""

from collections.abc import Sequence
from itertools import islice

import msgspec

from chaos import counts, failpoints
from chaos.campaign import Result, Setup
from chaos.counters import MEANING
from chaos.counts import Goal, goals, late, missing, setups, tally
from chaos.faults.fault import Strike
from chaos.ground import Kind
from chaos.recovery import Recovery

BOTH: tuple[Kind, ...] = ("sqlite", "postgres")
STEP = "store.spawn.after"


def came_of(setup: Setup, *struck: str, recoveries: dict[str, list[Recovery]] | None = None) -> Result:
    """A good run in which these goals were hit."""
    strikes = [
        Strike(fault="step", began=0.0, ended=0.0, what=name)
        if name in failpoints.PLACES
        else Strike(fault=name, began=0.0, ended=0.0)
        for name in struck
    ]
    return Result(
        setup=setup,
        jobs=1,
        took=1.0,
        strikes=strikes,
        violations=[],
        counters=dict.fromkeys(MEANING, 0),
        recoveries=recoveries or {},
        quiet=True,
    )


def played(wanted: Sequence[Goal], results: list[Result], *struck: str, tries: int = 5) -> list[Setup]:
    """All runs of a campaign of which each hits the same, and tries each failpoint so many times."""
    made = []
    for setup in islice(setups(wanted, results, BOTH, seed=1, slack=1.0), 20):
        made.append(setup)
        tried = dict.fromkeys(setup.aims, tries)
        results.append(msgspec.structs.replace(came_of(setup, *struck), tried=tried))
    return made


def test_every_failpoint_is_a_goal_and_a_part_of_each_is_never_nothing() -> None:
    assert {goal.name: goal.times for goal in goals()} == {
        "kill": 300,
        "restart": 100,
        "pause": 100,
        **dict.fromkeys(failpoints.PLACES, 50),
    }
    assert {goal.times for goal in goals(0.001)} == {1}


def test_it_goes_on_until_every_goal_is_reached_on_both_stores() -> None:
    results: list[Result] = []
    wanted = [Goal("kill", 5), Goal(STEP, 2), Goal("child.begin", 1)]
    made = played(wanted, results, "kill", "kill", STEP)
    assert [setup.faults for setup in made[:4]] == [("kill",), ("kill",), ("kill",), ("step",)]
    assert {setup.store for setup in made} == {"sqlite", "postgres"}
    # The first step was hit on the way; only the other one is left to aim at.
    assert made[3].aims == ("child.begin",)
    assert missing(wanted, results) == {"child.begin": 1}
    assert tally(results)["kill"] >= 5


def test_what_is_never_hit_is_given_up_and_told() -> None:
    results: list[Result] = []
    assert len(played([Goal("child.begin", 1)], results, tries=5)) == counts.MOST_IN_VAIN / 5
    assert missing([Goal("child.begin", 1)], results) == {"child.begin": 1}
    assert len(played([Goal("kill", 1)], [])) == 4


def test_what_nobody_came_to_try_is_not_given_up_soon() -> None:
    """On a slow machine a run may be over before it was the turn of all that it aims at."""
    assert len(played([Goal("child.begin", 1)], [], tries=0)) == counts.MOST_IN_VAIN


def test_runs_that_a_file_holds_already_count() -> None:
    before = came_of(Setup(seed=9, store="sqlite", faults=("step",)), STEP, STEP)
    assert played([Goal(STEP, 2)], [before]) == []


def test_only_postgres_is_stopped() -> None:
    wanted = [Goal("restart", 1)]
    assert [setup.store for setup in played(wanted, [], "restart")] == ["postgres"]
    assert list(setups(wanted, [], ("sqlite",), seed=1, slack=1.0)) == []


def test_who_is_late_is_named() -> None:
    setup = Setup(seed=1, store="postgres", faults=("kill", "restart"), lease=2.0)
    good = {"kill": [Recovery(2.4, None)], "restart": [Recovery(None, 0.9)]}
    assert late([came_of(setup, recoveries=good)]) == []
    bad = {"kill": [Recovery(2.6, None)], "restart": [Recovery(None, 1.1)]}
    first, second = late([came_of(setup, recoveries=bad)])
    assert first.startswith("kill: jobs were taken back 0.60 s after the lease")
    assert second.startswith("restart: the first claim came after 1.10 s")
