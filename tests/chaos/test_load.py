"""A seed is all that a run is made from: the same one asks for the same, and strikes at the same times."""

from random import Random

import pytest

from chaos import lanes, load
from chaos.app import app
from chaos.campaign import Setup, schedule
from chaos.faults import FAULTS
from chaos.mixes import MIXES, foreigners, mix
from tenure.core.model.lanes import LANES

EVERY_FAULT = Setup(seed=1, store="postgres", faults=tuple(FAULTS), seconds=20.0)


def test_a_seed_names_one_load_and_one_schedule() -> None:
    assert load.plan(7, seconds=10, calls=50) == load.plan(7, seconds=10, calls=50)
    assert load.plan(7, seconds=10, calls=50) != load.plan(8, seconds=10, calls=50)
    assert schedule(EVERY_FAULT, Random(1)) == schedule(EVERY_FAULT, Random(1))


@pytest.mark.parametrize("seed", range(5))
def test_every_key_is_used_once(seed: int) -> None:
    asks = load.plan(seed, seconds=10, calls=100, attacks=load.HOSTILE)
    keys = [one.key for ask in asks if ask.verb in {"enqueue", "batch", "hold", "stop"} for one in ask.wanted]
    assert len(set(keys)) == len(keys) == load.jobs_of(asks)


@pytest.mark.parametrize("clients", [1, 3])
def test_each_client_has_a_share_and_minds_its_own_jobs(clients: int) -> None:
    asks = load.plan(3, seconds=10, calls=100)
    shares = load.divided(asks, clients)
    assert sorted((ask for share in shares for ask in share), key=asks.index) == asks
    for share in shares:
        assert len(share) > 10
        assert share == sorted(share, key=lambda ask: ask.at)
        own: set[str] = set()
        for ask in share:
            named = {one.key for one in ask.wanted}
            assert ask.verb not in {"cancel", "replay"} or named <= own
            own |= named
    assert all(ask.verb != "stop" for share in shares[1:] for ask in share)


def test_every_attack_is_made() -> None:
    asks = load.plan(1, seconds=10, calls=10, attacks=load.HOSTILE)
    assert {one.definition for ask in asks for one in ask.wanted} >= load.HOSTILE.keys()


def test_every_lane_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition that the table names for another lane is asked for there, too."""
    monkeypatch.setitem(lanes.LANES, "sleep", ("warm", "async"))
    asks = load.plan(1, seconds=10, calls=10)
    asked = {one.definition: one.params for ask in asks for one in ask.wanted}
    assert asked.keys() >= {"sleep.warm", "sleep.async"}
    assert asked["sleep.warm"].keys() == {"seconds", "password"}


def test_whatever_lane_is_named_for_a_definition_is_used() -> None:
    """Those that nobody asks for by chance as well."""
    asked = {one.definition for ask in load.plan(1, seconds=10, calls=10) for one in ask.wanted}
    named = {key: lane for definition in lanes.LANES for key, lane in lanes.variants(definition).items()}
    assert asked >= {key for key, lane in named.items() if lane != lanes.PROCESS}
    assert {spec.lane for spec in app.specs() if spec.key in asked} == set(LANES)


def test_every_definition_that_the_load_names_is_defined() -> None:
    keys = {spec.key for spec in app.specs()}
    assert keys >= {*load.USUAL, *load.BUSY, *load.HOSTILE, *load.INSIDIOUS}


def test_every_fault_comes_in_some_mix() -> None:
    assert {name for mixed in MIXES for name in mixed} == FAULTS.keys()
    for seed in range(len(MIXES)):
        assert all("sqlite" in FAULTS[name].stores for name in mix(seed, "sqlite"))
        assert mix(seed, "postgres")
        assert foreigners(seed) or "leasing" not in mix(seed, "sqlite")
