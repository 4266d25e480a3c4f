"""Every invariant of kept progress is seen red: sound evidence with one thing changed breaks that one."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from chaos.charges import Charge
from chaos.checker import check
from chaos.deeds import Deed
from chaos.evidence import Evidence
from chaos.history import Call
from chaos.kept_progress import FinishedStep, JobProgress
from tenure.core.model.durable import StepKind, StepStatus
from tests.chaos.planted_progress import (
    UNRESTING,
    dies_in_an_effect,
    goes_on_in_doubt,
    is_told,
    keeps_twice,
    waits,
)
from tests.chaos.scene import Scene
from tests.chaos.stories import Story
from tests.storage.backends import SqliteBackend

Forgery = Callable[[Evidence], Evidence]


def changed(evidence: Evidence, **fields: object) -> Evidence:
    """What the one job has kept, with something changed."""
    [one] = evidence.progress
    return replace(evidence, progress=[replace(one, **fields)])


def _steps(evidence: Evidence, **fields: object) -> Evidence:
    [one] = evidence.progress
    return changed(evidence, steps=[replace(step, **fields) for step in one.steps])


def _another_result(evidence: Evidence) -> Evidence:
    return replace(
        evidence,
        finished_steps=[FinishedStep(job, replace(step, body=None)) for job, step in evidence.finished_steps],
    )


def ran(evidence: Evidence, step: str, *fences: int) -> Evidence:
    """A step that ran under these fences."""
    [one] = evidence.progress
    return replace(evidence, deeds=[Deed(one.job, step, fence) for fence in fences])


def charged(evidence: Evidence, fence: int) -> Evidence:
    """What a transaction has written."""
    [one] = evidence.progress
    return replace(evidence, charges=[Charge(one.job, "charge", fence)])


def transacted(evidence: Evidence) -> Evidence:
    """A step of a transaction, of which nobody has taken note before."""
    [one] = evidence.progress
    step = replace(one.steps[0], name="charge", kind=StepKind.TRANSACTION)
    return changed(evidence, steps=[*one.steps, step])


def acknowledged(evidence: Evidence) -> Evidence:
    """A signal that its sender was told of."""
    [one] = evidence.progress
    call = Call(number=9, verb="signal", asked=[one.job], sent_at=0, outcome="acknowledged", moved=[one.job])
    return replace(evidence, history=[*evidence.history, call])


FORGERIES: list[tuple[set[str], str, Story, Forgery]] = [
    ({"I54"}, "nobody knows what for", waits, lambda e: changed(e, wait=None)),
    ({"I54"}, "a signal that was sent", waits, lambda e: changed(e, signals=["approved"])),
    ({"I54"}, "a wait without its step", waits, lambda e: changed(e, steps=[])),
    ({"I55"}, "another result", keeps_twice, _another_result),
    ({"I55"}, "a step begun anew", keeps_twice, lambda e: _steps(e, status=StepStatus.CLEARED)),
    ({"I56"}, "a signal that nobody sent", is_told, lambda e: changed(e, signals=[])),
    ({"I57"}, "a doubt that is not told", dies_in_an_effect, lambda e: changed(e, in_doubt=[])),
    ({"I57"}, "a doubt about nothing", is_told, lambda e: changed(e, in_doubt=["fetch"])),
    ({"I62"}, "a step that ran again", is_told, lambda e: ran(e, "fetch", 1, 2)),
    ({"I62"}, "a step that never ran", is_told, lambda e: ran(e, "fetch", 0)),
    ({"I63"}, "an effect more than is told", goes_on_in_doubt, lambda e: ran(e, "charge", 1, 1, 2)),
    ({"I64"}, "a charge without a step", is_told, lambda e: charged(e, 1)),
    ({"I64"}, "a step without its charge", waits, transacted),
    ({"I65"}, "a signal that was lost", waits, acknowledged),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[Story, Evidence]:
    """What each life has left on record."""

    async def live(story: Story) -> Evidence:
        backend = SqliteBackend(tmp_path_factory.mktemp("progress") / "tenure.db")
        await backend.prepare()
        store = backend.store()
        await store.open()
        scene = Scene(store, backend.clock)
        await story(scene)
        evidence = await scene.evidence(UNRESTING)
        await store.close()
        return evidence

    async def all_of_them() -> dict[Story, Evidence]:
        return {story: await live(story) for story in {story for _, _, story, _ in FORGERIES}}

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("broken", "story", "forgery"),
    [
        pytest.param(broken, story, forge, id=f"{min(broken)}: {name}")
        for broken, name, story, forge in FORGERIES
    ],
)
def test_a_forgery_breaks_its_invariant_alone(
    told: dict[Story, Evidence], broken: set[str], story: Story, forgery: Forgery
) -> None:
    assert check(told[story]) == []
    assert {violation.invariant for violation in check(forgery(told[story]))} == broken


def test_all_that_was_kept_is_evidence(told: dict[Story, Evidence]) -> None:
    """Else an invariant would find nothing because it sees nothing."""
    [of_waiting] = told[waits].progress
    assert isinstance(of_waiting, JobProgress)
    assert [step.name for step in of_waiting.steps] == ["fetch", "wait:approved"]
    assert of_waiting.wait is not None
    assert told[keeps_twice].finished_steps != []
