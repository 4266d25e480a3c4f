"""The pages for users name everything that can be said: a page that lags behind fails here."""

import inspect
import re
from pathlib import Path

import pytest

from tenure.api.job_options import Options
from tenure.core.model.lanes import LANES
from tenure.core.model.spec import HOOKS
from tenure.core.model.states import UNFINISHED
from tenure.settings import settings, sources
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.terms import DefinitionTerms
from tenure.testing import AsyncHarness, Harness, HarnessJob
from tenure.testing.context import RecordingContext
from tools import figures
from tools import settings as tabled

DOCS = Path(__file__).parents[2] / "docs"
LIBRARY = (DOCS / "how-to/library.md").read_text()
LANES_PAGE = (DOCS / "how-to/lanes.md").read_text()
TESTING = (DOCS / "reference/testing.md").read_text()
SETTINGS = (DOCS / "reference/settings.md").read_text()


def test_every_setting_is_described_with_its_default_and_its_bounds() -> None:
    assert tabled.MEANINGS.keys() == set(settings.Settings.__struct_fields__), (
        "say what it means in tools/settings.py"
    )
    assert tabled.page(SETTINGS) == SETTINGS, "run `make states`"
    for name in sources.ALIASES:
        assert f"| `TENURE_{name.upper()}` |" in SETTINGS
    for row in (
        "| `TENURE_HTTP_REQUEST_SECONDS` | `http_request_seconds` | 10 | 0.1 to 600 |",
        "| `TENURE_HTTP_BATCH_BYTES` | `http_batch_bytes` | 16 MiB | 1 KiB to 256 MiB |",
        "| `TENURE_PORT` | `port` | 8000 | 0 to 65535 |",
        "| `TENURE_LOG_LEVEL` | `log_level` | `info` | `debug`, `info`, `warning`, `error` |",
    ):
        assert row in SETTINGS


def test_the_speeds_of_the_stores_are_those_that_were_measured() -> None:
    page = figures.PAGE.read_text()
    assert figures.page(page, figures.MEASURED.read_text()) == page, "run `make states`"


def test_no_guarantee_names_an_invariant_that_is_not_there() -> None:
    named = set(re.findall(r"\bI\d+\b", (DOCS / "explanation/guarantees.md").read_text()))
    listed = set(re.findall(r"^\| (I\d+) \|", (DOCS / "reference/invariants.md").read_text(), re.MULTILINE))
    assert len(named) > 20
    assert named <= listed


def test_who_moves_to_another_store_waits_for_every_job_that_has_not_ended() -> None:
    page = (DOCS / "explanation/sqlite-or-postgresql.md").read_text()
    assert set(re.findall(r"--state\s+(\w+)", page)) == UNFINISHED


@pytest.mark.parametrize("name", sorted({*dir(AsyncHarness), *dir(Harness)} - {"open", "close"}))
def test_every_call_of_a_harness_is_described(name: str) -> None:
    assert name.startswith("_") or re.search(rf"`{name}[`(]", TESTING)


@pytest.mark.parametrize("name", sorted({*vars(RecordingContext), *HarnessJob.__struct_fields__}))
def test_what_a_test_reads_of_a_context_and_of_a_job_is_described(name: str) -> None:
    overridden = {"enqueue", "enqueue_sync"}  # as in any context
    assert name.startswith("_") or name in overridden or re.search(rf"`{name}[`(]", TESTING)


@pytest.mark.parametrize("option", inspect.signature(RecordingContext).parameters)
def test_every_option_of_a_context_for_tests_is_described(option: str) -> None:
    assert re.search(rf"`{option}`|[(, ]{option}=", TESTING)


@pytest.mark.parametrize("term", DefinitionTerms.__annotations__)
def test_every_term_of_a_definition_is_described(term: str) -> None:
    assert f"`{term}`" in LIBRARY


@pytest.mark.parametrize("name", [*LANES, *sorted(sources.ATTEMPT_VARIABLES)])
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
