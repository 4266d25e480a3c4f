"""The short form of `make chaos-schedules`: schedules of one second, and what fires them is harmed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from chaos.ground import Kind
from chaos.schedules.run import Result, Setup, run
from tests.whole import dealt

SHORT = Setup(
    seed=4, store="sqlite", schedules=20, seconds=3, processes=3, strike_every=0.7, change_every=0.1
)


async def played(setup: Setup, request: pytest.FixtureRequest, folder: Path) -> Result:
    """A run that broke nothing, in which something happened."""
    server = request.getfixturevalue("server") if setup.store == "postgres" else None
    result = await run(setup, folder, server)
    assert not result.violations
    assert result.fired
    assert sum(result.strikes.values())
    assert result.calls["edit"]
    assert result.by_rule >= setup.schedules // 2
    return result


@pytest.mark.parametrize("store", dealt(0))
async def test_every_tick_is_once_whatever_becomes_of_those_that_fire_it(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S1.16, S1.65, S1.66: schedulers, workers and servers are killed, frozen and restarted meanwhile."""
    await played(replace(SHORT, store=store), request, tmp_path / "run")


@pytest.mark.long
@pytest.mark.parametrize("store", dealt(1))
async def test_ten_thousand_ticks_are_once(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S1.16, S1.65: five processes fire them."""
    result = await played(Setup(seed=5, store=store, ticks=10_000), request, tmp_path / "run")
    assert result.jobs >= 10_000
    assert result.strikes["kill"] > 5
    assert result.strikes["freeze"] > 5
