"""The checker: finds nothing where nothing is wrong, whatever jobs went through."""

from datetime import timedelta

import pytest

from chaos.checker import INVARIANTS, check
from chaos.evidence import Terms, Watch, gather
from tenure.storage.contract import Store
from tests.storage.clock import Clock
from tests.storage.contract.lives import lives

# Nobody reaps for a whole minute in these lives.
NEVER_AT_REST = Terms(lease=timedelta(seconds=30), rescue=timedelta(seconds=60), quiet=False)


async def test_lives_of_every_kind_break_nothing(store: Store, clock: Clock) -> None:
    watch = Watch()
    async for _ in lives(store, clock):
        await watch.look(store)

    assert check(await gather(store, NEVER_AT_REST, watch=watch)) == []


@pytest.mark.parametrize("number", INVARIANTS)
def test_every_invariant_says_its_number(number: str) -> None:
    assert (INVARIANTS[number].__doc__ or "").startswith(f"{number}: ")
