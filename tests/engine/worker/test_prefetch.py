"""How many jobs are claimed ahead, by what attempts were measured to take."""

import pytest

from tenure.core.model.lease import Line
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.engine.config import MOST_SLOTS, WorkerConfig
from tenure.engine.worker.prefetch import Prefetch
from tenure.engine.worker.slot_groups import slot_groups


def measured(*took: float, window: float = 0.05, most: int = 500) -> Prefetch:
    prefetch = Prefetch(window, most)
    for seconds in took:
        prefetch.note(seconds)
    return prefetch


def test_who_has_measured_nothing_claims_nothing_ahead() -> None:
    assert measured().ahead(10) == 0


@pytest.mark.parametrize(
    ("took", "slots", "ahead"), [(0.005, 2, 20), (0.1, 10, 5), (0.1, 1, 0), (60, 100, 0), (0.0, 2, 500)]
)
def test_as_many_are_held_as_begin_within_the_moment(took: float, slots: int, ahead: int) -> None:
    assert measured(took).ahead(slots) == ahead


def test_where_attempts_take_long_nothing_is_held_however_many_slots_there_are() -> None:
    """Slots that were filled together are free together: what is held would wait for all of that time."""
    assert measured(0.4, window=0.2).ahead(100) == 50
    assert measured(1.5, window=0.2).ahead(1000) == 0


def test_one_long_attempt_outweighs_many_short_ones() -> None:
    assert measured(*[0.005] * 100, 10).ahead(2) == 0


def test_after_a_long_attempt_short_ones_win_back_trust_slowly() -> None:
    slowed = measured(*[0.005] * 100, 1)
    before = slowed.ahead(2)
    for _ in range(60):
        slowed.note(0.005)
    assert (before, slowed.ahead(2)) == (0, 19)


def test_without_a_moment_nothing_is_held() -> None:
    assert measured(0.001, window=0).ahead(10) == 0


def served(*specs: Spec) -> dict[str, tuple[int, int, float]]:
    lines = tuple(Line(spec.queue, spec.key, spec.version) for spec in specs)
    config = WorkerConfig(worker="w", lines=lines, slots=3, warm_slots=4, async_slots=50, thread_slots=6)
    return {group.name: (group.slots, len(group.lines), group.moment) for group in slot_groups(specs, config)}


def test_lanes_of_fresh_processes_share_their_slots_and_others_have_their_own() -> None:
    found = served(*(Spec(key=lane, lane=lane) for lane in ("process", "command", "spawn", "warm", "async")))
    assert {name: group[:2] for name, group in found.items()} == {
        "process": (3, 3),
        "warm": (4, 1),
        "async": (50, 1),
    }


def test_nothing_is_claimed_ahead_beside_what_must_not_run_twice() -> None:
    """A worker that is killed cannot say what it had begun: what it held would be buried unstarted."""
    burying = Spec(key="b", policy=Policy(on_lost=OnLost.BURY))
    assert served(Spec(key="a"), burying)["process"][2] == 0
    assert served(Spec(key="a"))["process"][2] > 0


@pytest.mark.parametrize(
    ("slots", "buffer", "most"),
    [(10, None, 1_000), (MOST_SLOTS - 100, None, 100), (10, 7, 7), (MOST_SLOTS - 1, 7, 1)],
)
def test_no_more_is_held_than_one_round_trip_can_settle(slots: int, buffer: int | None, most: int) -> None:
    spec = Spec(key="a", lane="async")
    config = WorkerConfig(
        worker="w", lines=(Line("default", "a"),), slots=1, async_slots=slots, buffer=buffer
    )
    [group] = slot_groups([spec], config)
    assert group.most_ahead == most
