"""What a verb touches does not grow with history, on either store, by the database's own count."""

from collections.abc import Mapping

from tests.storage.touched.conftest import Made, Make
from tests.storage.touched.cost import Costs, grown
from tests.storage.touched.history import Past, PastBackend, Scene
from tests.storage.touched.workloads import BESIDE_A_CROWD, WORKLOADS, Workload
from tests.whole import IS_WHOLE

# The short one is long enough for a page of a list to have all the rows that it may look at.
SHORT, LONG = Past(20_000), Past(200_000 if IS_WHOLE else 100_000)
EMPTY, CROWDED = Past(2_000), Past(2_000, crowd=100_000 if IS_WHOLE else 50_000)


async def test_what_a_verb_touches_does_not_grow_with_history(make: Make) -> None:
    assert await growth(await make(SHORT), await make(LONG), WORKLOADS) == {}


async def test_nothing_is_touched_of_a_crowd_that_is_not_taken(make: Make) -> None:
    """More of the same; and before them others, paused, under a limit that is used up, or not asked for.

    So with timers: those of kinds that this code does not know were due before all others.
    """
    assert await growth(await make(EMPTY), await make(CROWDED), BESIDE_A_CROWD) == {}


async def growth(
    small: Made, large: Made, workloads: Mapping[str, tuple[Workload, int]]
) -> dict[tuple[str, str], dict[str, str]]:
    """What costs more in the large database, by the way in which statements are planned and by workload."""
    ways = small[0].ways
    # In this order: once a database was analyzed, it is no longer as it was made.
    measure = {way: await costs_of(*small, way, workloads) for way in dict.fromkeys(ways.values())}
    found = {}
    for way, measured_by in ways.items():
        for workload, costs in (await costs_of(*large, way, workloads)).items():
            found[way, workload] = grown(measure[measured_by][workload], costs)
    return {workload: more for workload, more in found.items() if more}


async def costs_of(
    backend: PastBackend, scene: Scene, way: str, workloads: Mapping[str, tuple[Workload, int]]
) -> dict[str, Costs]:
    """What each workload costs, provided that it comes to as much as it should."""
    costs = {}
    async with backend.watched(way) as (store, so_far):
        for name, (workload, expected) in workloads.items():
            so_far.clear()
            assert await workload(store, scene) == expected, name
            costs[name] = dict(so_far)
    return costs
