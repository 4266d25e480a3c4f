"""What has a state on a page has a word, a tone and a silhouette: a new member without one is told here."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, get_args
from uuid import UUID

import pytest

from tenure.api.views import WorkerStanding
from tenure.api.webhook_shapes import Standing
from tenure.core.model.durable import StepStatus
from tenure.core.model.job import Event
from tenure.core.model.outcome import Ending
from tenure.core.model.states import OWNED, STEPS, UNFINISHED, State
from tenure.core.schedule.schedule import TickOutcome
from tenure.core.webhooks.delivery import DeliveryState
from tenure.surfaces.dashboard import looks
from tenure.surfaces.dashboard.pages.job.timeline import Timeline, draw

FILES = files("tenure.surfaces.dashboard")
SHEET = re.sub(r"/\*.*?\*/", "", (FILES / "static/dashboard.css").read_text(), flags=re.DOTALL)
_RULE = re.compile(r"([^{};]*)\{((?:[^{}\"]|\"[^\"]*\")*)\}")
_MEMBER = re.compile(r"\s*\[data-(state|i)=\"([^\"]+)\"\]\s*")
_WRITTEN = re.compile(r"""(?:data-state="|\bstate\(")([^"{]+)"|(?:data-i="|\bicon\(")([^"{]+)\"""")


def of_members(kind: str, name: str) -> dict[str, str]:
    """What the sheet gives each `[data-KIND]`, all else alike, as the property of that name."""
    found: dict[str, str] = {}
    for selectors, body in _RULE.findall(SHEET):
        if given := re.search(rf"--{name}:\s*((?:[^;\"]|\"[^\"]*\")+)", body):
            members = (_MEMBER.fullmatch(one) for one in selectors.split(","))
            found |= {one[2]: given[1].strip() for one in members if one and one[1] == kind}
    return found


def test_every_state_has_a_word_a_tone_and_a_silhouette_of_its_own() -> None:
    """And nothing else has: what is no state is shown by the look of one."""
    states = {state.value for state in State}
    silhouettes, tones = of_members("state", "i"), of_members("state", "tone")
    assert states == set(silhouettes) == set(tones) == set(looks.WORDS)
    assert len(set(silhouettes.values())) == len(states)
    assert len(set(looks.WORDS.values())) == len(states)
    assert {re.fullmatch(r"var\(--(\w+)\)", tone)[1] for tone in tones.values()} <= {  # type: ignore[index]
        *("muted", "accent", "good", "warn", "bad", "rest")
    }


@pytest.mark.parametrize(
    ("shown", "members"),
    [
        (looks.ATTEMPTS, Ending),
        (looks.STEPS, StepStatus),
        (looks.TICKS, TickOutcome),
        (looks.DELIVERIES, DeliveryState),
        (looks.WEBHOOKS, get_args(Standing)),
        (looks.WORKERS, get_args(WorkerStanding)),
    ],
)
def test_every_member_of_what_pages_show_has_a_look(
    shown: Mapping[Any, looks.Look | None], members: Any
) -> None:
    assert set(shown) == set(members)
    looks_like = [one for one in shown.values() if one]
    assert all(one.word for one in looks_like)
    # Of those that look alike the words tell which it is, except for the two ways in which a handler fails.
    assert len({one.word for one in looks_like}) >= len(looks_like) - (shown is looks.ATTEMPTS)


def test_what_templates_write_is_in_the_sheet() -> None:
    states, icons = of_members("state", "i"), of_members("i", "i")
    pages = [one for one in FILES.joinpath("templates").iterdir() if one.is_file()]
    pages += list(FILES.joinpath("templates/job").iterdir())
    written = [found for page in pages for found in _WRITTEN.findall(page.read_text())]
    assert {state for state, _ in written if state} <= set(states)
    assert {icon for _, icon in written if icon} <= set(icons)
    assert len(written) > 20


def test_the_timeline_draws_every_step() -> None:
    """Each end of an attempt, and each state that a job can rest in, has its name there."""
    for step in STEPS:
        if step.source in OWNED and step.target not in OWNED:
            before = ((None, State.QUEUED, "queued"), (State.QUEUED, step.source, "started"))
            timeline = drawn(*before, (step.source, step.target, step.event))
            assert "ran " in timeline.rows[0].says, step
    for state in UNFINISHED:
        assert drawn((None, state, "queued")).rows[0].says, state


def drawn(*path: tuple[State | None, State, str]) -> Timeline:
    """The timeline of a job that took these steps, a minute each."""
    began = datetime(2026, 11, 20, tzinfo=UTC)
    timeline = draw(
        [
            Event(
                job=UUID(int=1),
                n=n,
                type=event,
                source=source,
                target=target,
                attempt=1,
                fence=1,
                at=began + n * timedelta(minutes=1),
                actor="a",
            )
            for n, (source, target, event) in enumerate(path, 1)
        ],
        began + timedelta(hours=1),
    )
    assert timeline is not None
    return timeline
