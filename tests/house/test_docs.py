"""The pages for users name everything that can be said: a page that lags behind fails here."""

from pathlib import Path

import pytest

from tenure import settings
from tenure.core.spec import HOOKS, LANES
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.options import Options
from tenure.surfaces.library.terms import Terms
from tools import bounds

DOCS = Path(__file__).parents[2] / "docs"
LIBRARY = (DOCS / "how-to/library.md").read_text()
LANES_PAGE = (DOCS / "how-to/lanes.md").read_text()
SETTINGS = (DOCS / "reference/settings.md").read_text()


@pytest.mark.parametrize("name", [*settings.Settings.__struct_fields__, *settings.ALIASES])
def test_every_setting_is_described(name: str) -> None:
    assert f"`TENURE_{name.upper()}`" in SETTINGS


def test_the_table_of_bounds_is_what_the_code_says() -> None:
    assert bounds.page(SETTINGS) == SETTINGS, "run `make states`"
    assert "| `http_request_seconds` | 10 | 0.1 | 600 |" in SETTINGS


@pytest.mark.parametrize("term", Terms.__annotations__)
def test_every_term_of_a_definition_is_described(term: str) -> None:
    assert f"`{term}`" in LIBRARY


@pytest.mark.parametrize("name", [*LANES, *sorted(settings.OF_AN_ATTEMPT)])
def test_every_lane_and_what_a_program_is_told_is_described(name: str) -> None:
    assert f"`{name}`" in LANES_PAGE


@pytest.mark.parametrize("option", Options.__annotations__)
def test_every_option_of_a_caller_is_described(option: str) -> None:
    assert f"{option}=" in LIBRARY


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_described(hook: str) -> None:
    assert hook in LIBRARY


@pytest.mark.parametrize("method", [name for name in vars(JobHandle) if name.endswith("_sync")])
def test_every_question_to_a_handle_is_described(method: str) -> None:
    assert f"job.{method.removesuffix('_sync')}(" in LIBRARY
