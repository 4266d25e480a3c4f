"""Each description in its own words: how it calls what the core does, state by state and step by step."""

from itertools import pairwise

from tenure.api.dialects.dialect import CoreStep, Dialect, Move
from tenure.api.dialects.orchestrator import ORCHESTRATOR
from tenure.api.dialects.queue import QUEUE
from tenure.api.dialects.server import SERVER
from tenure.api.dialects.tasks import TASKS
from tenure.api.dialects.worker import WORKER
from tenure.core.model.states import STEPS, State

S = State


def words(dialect: Dialect, *states: State) -> list[str | None]:
    """What the description calls jobs that were never claimed before, in these states."""
    return [dialect.words[state] for state in states]


def translated(dialect: Dialect, source: State, event: str, target: State, *, again: bool = True) -> str:
    """A step in the words of a description, each of which leads to the next by a legal move there.

    `again` says that the job was claimed before, as one has been that is owned.
    """
    assert any((step.source, step.event, step.target) == (source, event, target) for step in STEPS)
    detour = dialect.detour_of(CoreStep(source, event, target))
    through = () if detour is None else detour.through
    first = dialect.word_at(source, was_claimed=again)
    path = (first, *through, dialect.word_at(target, was_claimed=again or target is S.RUNNING))
    assert set(pairwise(path)) <= set(dialect.moves), path
    return " ".join(map(str, path))


def test_an_orchestrators_job_waits_and_runs() -> None:
    """S0.12, S0.13, S0.14."""
    assert words(ORCHESTRATOR, S.CREATED, S.QUEUED, S.RUNNING) == ["CREATED", "QUEUED", "RUNNING"]


def test_an_orchestrators_job_succeeds_is_to_be_tried_again_or_is_dead() -> None:
    """S0.15, S0.16, S0.17."""
    assert words(ORCHESTRATOR, S.SUCCEEDED, S.RETRYING, S.FAILED) == ["SUCCESS", "RETRY", "DEAD"]


def test_an_orchestrator_accepts_leases_and_completes() -> None:
    """S0.18, S0.19, S0.20."""
    assert translated(ORCHESTRATOR, S.CREATED, "accepted", S.QUEUED, again=False) == "CREATED QUEUED"
    assert translated(ORCHESTRATOR, S.QUEUED, "started", S.RUNNING, again=False) == "QUEUED RUNNING"
    assert translated(ORCHESTRATOR, S.RUNNING, "succeeded", S.SUCCEEDED) == "RUNNING SUCCESS"


def test_an_orchestrator_tries_again_or_gives_up() -> None:
    """S0.21, S0.22, S0.23."""
    assert translated(ORCHESTRATOR, S.RUNNING, "retrying", S.RETRYING) == "RUNNING RETRY"
    assert translated(ORCHESTRATOR, S.RETRYING, "queued", S.QUEUED) == "RETRY QUEUED"
    assert translated(ORCHESTRATOR, S.RETRYING, "failed", S.FAILED) == "RETRY DEAD"


def test_a_fatal_error_passes_through_retry_in_the_orchestrators_words() -> None:
    """C3: it knows no way from RUNNING to DEAD, and the core has one."""
    assert Move("RUNNING", "DEAD") not in ORCHESTRATOR.moves
    assert translated(ORCHESTRATOR, S.RUNNING, "failed", S.FAILED) == "RUNNING RETRY DEAD"


def test_a_failure_that_waits_for_its_time_is_in_each_description_what_it_calls_that() -> None:
    """C2: one backoff with a due time, which some call by a word of its own and some a job in line."""
    waiting = {dialect.name: dialect.words[S.RETRYING] for dialect in (ORCHESTRATOR, WORKER, QUEUE, TASKS)}
    assert waiting == {
        "orchestrator": "RETRY",
        "worker": "failed_retryable",
        "queue": "queued",
        "tasks": "Ready",
    }
    assert [step.by for step in STEPS if (step.source, step.target) == (S.RETRYING, S.QUEUED)] == ["clock"]


def test_a_servers_job_succeeds_fails_or_is_cancelled() -> None:
    """S1.30, S1.31, S1.32."""
    assert translated(SERVER, S.QUEUED, "started", S.RUNNING, again=False) == "queued running"
    assert translated(SERVER, S.RUNNING, "succeeded", S.SUCCEEDED) == "running succeeded"
    assert translated(SERVER, S.RUNNING, "failed", S.FAILED) == "running failed"
    assert translated(SERVER, S.QUEUED, "cancelled", S.CANCELLED, again=False) == "queued cancelled"


def test_a_servers_job_is_stopped_or_orphaned_while_it_runs() -> None:
    """S1.33, S1.34."""
    assert translated(SERVER, S.RUNNING, "cancelling", S.CANCELLING) == "running cancelling"
    assert translated(SERVER, S.CANCELLING, "cancelled", S.CANCELLED) == "cancelling cancelled"
    assert translated(SERVER, S.RUNNING, "orphaned", S.QUEUED) == "running orphaned queued"


def test_a_workers_job_is_queued_processed_and_completed() -> None:
    """S2.5, S2.6, S2.7."""
    assert words(WORKER, S.QUEUED, S.RUNNING, S.SUCCEEDED) == ["queued", "processing", "completed"]


def test_a_workers_job_fails_for_now_or_for_good() -> None:
    """S2.8, S2.9."""
    assert words(WORKER, S.RETRYING, S.FAILED) == ["failed_retryable", "failed"]


def test_a_worker_takes_a_job_and_ends_it_or_lets_it_wait() -> None:
    """S2.10, S2.11, S2.12."""
    assert translated(WORKER, S.QUEUED, "started", S.RUNNING, again=False) == "queued processing"
    assert translated(WORKER, S.RUNNING, "succeeded", S.SUCCEEDED) == "processing completed"
    assert translated(WORKER, S.RUNNING, "retrying", S.RETRYING) == "processing failed_retryable"


def test_a_worker_fails_a_job_or_takes_it_again_or_deletes_it() -> None:
    """S2.13, S2.14, S2.15."""
    assert translated(WORKER, S.RUNNING, "failed", S.FAILED) == "processing failed"
    assert translated(WORKER, S.QUEUED, "started", S.RUNNING) == "failed_retryable processing"
    assert translated(WORKER, S.RETRYING, "failed", S.FAILED) == "failed_retryable failed"


def test_a_workers_queued_job_is_processed_and_nothing_else() -> None:
    """S2.18, S2.19, S2.20: it neither fails nor completes without an attempt."""
    assert [move.target for move in WORKER.moves if move.source == "queued"] == ["processing"]


def test_a_queues_job_has_four_words() -> None:
    """S3.18."""
    assert words(QUEUE, S.QUEUED, S.RUNNING, S.SUCCEEDED, S.FAILED) == [
        "queued",
        "processing",
        "done",
        "failed",
    ]
    assert set(QUEUE.words.values()) == {"queued", "processing", "done", "failed"}


def test_a_queues_job_is_done_fails_or_is_seen_again() -> None:
    """S3.19, S3.20, S3.21."""
    assert translated(QUEUE, S.QUEUED, "started", S.RUNNING, again=False) == "queued processing"
    assert translated(QUEUE, S.RUNNING, "succeeded", S.SUCCEEDED) == "processing done"
    assert translated(QUEUE, S.RUNNING, "failed", S.FAILED) == "processing failed"
    assert translated(QUEUE, S.RUNNING, "orphaned", S.QUEUED) == "processing queued"


def test_a_task_is_new_ready_or_delayed() -> None:
    """S4.1, S4.2, S4.3."""
    assert words(TASKS, S.CREATED, S.QUEUED, S.SCHEDULED) == ["New", "Ready", "Delayed"]


def test_a_task_is_reserved() -> None:
    """S4.5."""
    assert words(TASKS, S.RUNNING) == ["Reserved"]


def test_a_task_ends_in_three_ways() -> None:
    """S4.6, S4.7, S4.8."""
    assert words(TASKS, S.FAILED, S.SUCCEEDED, S.BURIED) == ["Aborted", "Success", "Buried"]


def test_a_new_task_is_made_ready_or_delayed() -> None:
    """S4.9, S4.10."""
    assert translated(TASKS, S.CREATED, "accepted", S.QUEUED, again=False) == "New Ready"
    assert translated(TASKS, S.CREATED, "accepted", S.SCHEDULED, again=False) == "New Delayed"


def test_a_delayed_task_is_watched_on_its_way() -> None:
    """C26, S4.11, S4.13: a moment that nobody can see at rest."""
    assert translated(TASKS, S.SCHEDULED, "queued", S.QUEUED, again=False) == "Delayed Watching Ready"
    assert "Watching" not in TASKS.words.values()


def test_a_task_is_reserved_and_comes_back_or_succeeds() -> None:
    """S4.14, S4.15, S4.16."""
    assert translated(TASKS, S.QUEUED, "started", S.RUNNING, again=False) == "Ready Reserved"
    assert translated(TASKS, S.RUNNING, "retrying", S.RETRYING) == "Reserved Ready"
    assert translated(TASKS, S.RUNNING, "succeeded", S.SUCCEEDED) == "Reserved Success"


def test_a_task_is_aborted_or_buried() -> None:
    """S4.17, S4.18, S4.19."""
    assert translated(TASKS, S.RUNNING, "failed", S.FAILED) == "Reserved Aborted"
    assert translated(TASKS, S.RUNNING, "buried", S.BURIED) == "Reserved Buried"
    assert translated(TASKS, S.QUEUED, "cancelled", S.CANCELLED, again=False) == "Ready Aborted"
    assert translated(TASKS, S.SCHEDULED, "cancelled", S.CANCELLED, again=False) == "Delayed Aborted"
