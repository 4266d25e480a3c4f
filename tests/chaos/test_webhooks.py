"""The short form of `make chaos-webhooks`: receivers misbehave, and what sends to them is killed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from chaos.ground import Kind
from chaos.webhooks.run import Result, Setup, run
from tests.whole import dealt

SHORT = Setup(
    seed=1, store="sqlite", jobs=25, seconds=6, processes=2, receivers=2, strike_every=1.5, act_every=0.7
)


async def played(setup: Setup, request: pytest.FixtureRequest, folder: Path) -> Result:
    """A run that broke nothing, in which something happened."""
    server = request.getfixturevalue("server") if setup.store == "postgres" else None
    result = await run(setup, folder, server)
    assert not result.violations, f"all was told: {result.quiet}"
    assert result.owed >= 8 * setup.jobs
    assert result.requests > result.taken >= result.owed
    assert sum(result.strikes.values())
    return result


@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", dealt(1))
async def test_every_event_is_told_whatever_becomes_of_those_that_send_and_receive(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S1.17, S1.73, S1.79: killed, frozen and restarted; answers of every kind; jobs pruned meanwhile."""
    await played(replace(SHORT, store=store), request, tmp_path / "run")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", dealt(0))
async def test_two_thousand_jobs_are_told_of(
    store: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S1.17, S1.73: by receivers that misbehave in every way for a minute."""
    result = await played(Setup(seed=2, store=store), request, tmp_path / "run")
    assert result.strikes["kill"] > 5
    assert result.strikes["kill a receiver"] > 5
    assert result.pruned > 100
