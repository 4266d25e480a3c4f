"""The proof of the dialects: over every step of the core, in every description's words."""

import pytest
from msgspec import structs

from tenure.api.dialects.dialect import CoreStep, Dialect, Move
from tenure.api.dialects.known import DIALECTS
from tenure.api.dialects.orchestrator import ORCHESTRATOR
from tenure.api.dialects.queue import QUEUE
from tenure.api.dialects.server import SERVER
from tenure.api.dialects.tasks import TASKS
from tenure.api.dialects.worker import WORKER
from tenure.core.model.states import STEPS, State, Step
from tools.dialects import classify, ways

WAYS = tuple(ways())
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)


def unexplained(dialect: Dialect) -> list[tuple[Step, bool]]:
    """The steps that a dialect tells out of order."""
    return [way for way in WAYS if classify(dialect, way[0], was_claimed=way[1]) is None]


def step(source: State | None, event: str, target: State) -> Step:
    """A step of the core; the first, where two differ in who takes them."""
    return next(step for step in STEPS if (step.source, step.event, step.target) == (source, event, target))


def test_every_step_is_walked() -> None:
    """Also as taken by a job that was claimed before, where that can be."""
    assert {step for step, _ in WAYS} == set(STEPS)
    both = {step.source for step, was_claimed in WAYS if was_claimed} & {
        step.source for step, was_claimed in WAYS if not was_claimed
    }
    assert both == {State.QUEUED}


@every_dialect
def test_every_step_is_no_change_a_move_a_detour_or_declared_foreign(dialect: Dialect) -> None:
    """C1, S0.24, S2.1: one life of a job, and five descriptions that are never told an undeclared step."""
    assert unexplained(dialect) == []


@every_dialect
def test_a_table_that_shrinks_is_found(dialect: Dialect) -> None:
    """Every move is needed by some step, but the one back from a watch, which never rests."""
    idle = {
        move
        for move in dialect.moves
        if not unexplained(structs.replace(dialect, moves=tuple(set(dialect.moves) - {move})))
    }
    assert idle == ({Move("Watching", "Delayed")} if dialect is TASKS else set())


@every_dialect
def test_a_declaration_that_is_not_needed_is_found(dialect: Dialect) -> None:
    """Each names a step that there is, and that is told in no other way."""
    told = {
        (classify(dialect, step, was_claimed=was_claimed), CoreStep(step.source, step.event, step.target))
        for step, was_claimed in WAYS
    }
    declared = [("detour", taken) for detour in dialect.detours for taken in detour.steps]
    declared += [("foreign", taken) for foreign in dialect.foreign for taken in foreign.steps]
    assert set(declared) <= told
    assert len(declared) == len(set(declared))


NEW_STEPS = (
    (ORCHESTRATOR, Step(State.QUEUED, State.FAILED, "failed", "clock", "")),
    (ORCHESTRATOR, Step(State.SUCCEEDED, State.QUEUED, "queued", "api", "")),
    (SERVER, Step(State.QUEUED, State.FAILED, "failed", "clock", "")),
    (SERVER, Step(State.RUNNING, State.CANCELLED, "cancelled", "worker", "")),
    (WORKER, Step(State.QUEUED, State.FAILED, "failed", "clock", "")),
    (WORKER, Step(State.RUNNING, State.FAILED, "failed", "api", "")),
    (QUEUE, Step(State.QUEUED, State.FAILED, "failed", "clock", "")),
    (QUEUE, Step(State.QUEUED, State.SUCCEEDED, "succeeded", "worker", "")),
    (TASKS, Step(State.QUEUED, State.SCHEDULED, "scheduled", "api", "")),
    (TASKS, Step(State.CREATED, State.RUNNING, "started", "worker", "")),
)


@pytest.mark.parametrize(("dialect", "new"), NEW_STEPS)
def test_a_step_that_is_added_to_the_core_is_found(dialect: Dialect, new: Step) -> None:
    """S2.18, S2.19, S2.24: also where the words are foreign for another step, or legal for others."""
    assert classify(dialect, new, was_claimed=False) is None


@every_dialect
def test_nothing_follows_a_word_that_ends(dialect: Dialect) -> None:
    """S0.15, S2.16, S2.17."""
    ends = {dialect.word_at(state, was_claimed=True) for state in State if state.is_final}
    assert not ends & {move.source for move in dialect.moves if move.source is not None}
    assert not ends & {dialect.words[state] for state in State if not state.is_final}


@every_dialect
def test_a_word_is_looked_for_in_the_states_that_it_stands_for(dialect: Dialect) -> None:
    places = {(way.source, was_claimed) for way, was_claimed in WAYS if way.source is not None}
    for state, was_claimed in places:
        word = dialect.word_at(state, was_claimed=was_claimed)
        assert word is not None
        assert state in dialect.matching(word)
    assert dialect.matching("no such word") == frozenset()


def test_a_server_has_its_six_words() -> None:
    """S1.38: beside those that it lacks, which are the core's own."""
    assert {"queued", "running", "succeeded", "failed", "cancelling", "cancelled"} <= set(
        SERVER.words.values()
    )


@pytest.mark.parametrize(
    ("taken", "move"),
    [
        ((State.QUEUED, "started", State.RUNNING), Move("queued", "processing")),
        ((State.RUNNING, "succeeded", State.SUCCEEDED), Move("processing", "completed")),
        ((State.RUNNING, "retrying", State.RETRYING), Move("processing", "failed_retryable")),
        ((State.RUNNING, "failed", State.FAILED), Move("processing", "failed")),
    ],
)
def test_a_worker_claims_completes_and_fails(taken: tuple[State, str, State], move: Move) -> None:
    """S2.25, S2.26, S2.27."""
    own = step(*taken)
    assert own.by == "worker"
    assert move == (WORKER.words[taken[0]], WORKER.words[taken[2]])
    assert classify(WORKER, own, was_claimed=own.source is not State.QUEUED) == "move"


def test_a_worker_retries_and_gives_up() -> None:
    """S2.28, S2.29: a job in line again is to be retried; to give it up is what is called to delete it."""
    assert WORKER.word_at(State.QUEUED, was_claimed=True) == "failed_retryable"
    for taken in ((State.QUEUED, "started", State.RUNNING), (State.RETRYING, "failed", State.FAILED)):
        assert classify(WORKER, step(*taken), was_claimed=True) == "move"
