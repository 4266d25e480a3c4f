"""The checker: finds nothing where nothing is wrong, whatever jobs went through; its page is whole."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from chaos.checker import INVARIANTS, check
from chaos.evidence import Terms, Watch, gather
from tenure.storage.contract.store import Store
from tests.chaos.test_messages import PLANTED as MESSAGES
from tests.chaos.test_planted_api import SERVERS
from tests.chaos.test_planted_sabotage import BY_FUNCTION, PLANTS
from tests.chaos.test_planted_worker import CASES
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives

# Nobody reaps for a whole minute in these lives.
NEVER_AT_REST = Terms(lease=timedelta(seconds=30), rescue=timedelta(seconds=60), quiet=False)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/invariants.md").read_text()
ROWS = {line.split("|")[1].strip(): line for line in PAGE.splitlines() if line.startswith("| I")}

SABOTAGE = {
    **{plant.name: plant.notice for plant in PLANTS},
    **{name: numbers for name, (numbers, _, _) in CASES.items()},
    **BY_FUNCTION,
    **SERVERS,
    **MESSAGES,
}


async def test_lives_of_every_kind_break_nothing(store: Store, clock: Clock) -> None:
    watch = Watch()
    async for _ in lives(store, clock):
        await watch.look(store)

    assert check(await gather(store, NEVER_AT_REST, watch=watch)) == []


@pytest.mark.parametrize("number", INVARIANTS)
def test_every_invariant_says_its_number(number: str) -> None:
    assert (INVARIANTS[number].__doc__ or "").startswith(f"{number}: ")


def test_the_page_has_a_row_for_every_invariant_and_says_where_the_others_are_proved() -> None:
    assert set(ROWS) == {*INVARIANTS, "I42"}


@pytest.mark.parametrize("number", ROWS)
def test_the_page_names_exactly_the_sabotage_that_is_proved_to_break_it(number: str) -> None:
    said = ROWS[number].split("|")[5].strip()
    broken_by = {name for name, numbers in SABOTAGE.items() if number in numbers}
    assert (set() if said.startswith("–") else set(said.split("; "))) == broken_by


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))))
def test_what_the_page_points_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()
