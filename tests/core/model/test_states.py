"""The table of steps says what the lifecycle says: each legal step, and nothing beside them."""

from itertools import pairwise, product

import pytest

from tenure.core.model.states import FINAL, FIRST, MEANING, MOVES, OWNED, STEPS, State, Step, is_legal

CREATED, SCHEDULED, QUEUED = State.CREATED, State.SCHEDULED, State.QUEUED
RUNNING, CANCELLING, RETRYING, SUSPENDED = State.RUNNING, State.CANCELLING, State.RETRYING, State.SUSPENDED
SUCCEEDED, FAILED, CANCELLED, BURIED = State.SUCCEEDED, State.FAILED, State.CANCELLED, State.BURIED

NEVER_CLAIMED = (CREATED, SCHEDULED, QUEUED)

LIFECYCLE: dict[State | None, set[State]] = {
    None: {CREATED, SCHEDULED, QUEUED},
    CREATED: {SCHEDULED, QUEUED, CANCELLED},
    SCHEDULED: {QUEUED, CANCELLED},
    QUEUED: {RUNNING, CANCELLED},
    RUNNING: {SUCCEEDED, RETRYING, FAILED, QUEUED, BURIED, SUSPENDED, CANCELLING},
    CANCELLING: {CANCELLED, SUCCEEDED, FAILED},
    RETRYING: {QUEUED, FAILED, CANCELLED},
    SUSPENDED: {QUEUED, CANCELLED},
    SUCCEEDED: set(),
    FAILED: set(),
    CANCELLED: set(),
    BURIED: set(),
}


def steps(source: State | None, target: State) -> list[Step]:
    """The ways from one state to the other; a test that needs one fails here when there is none."""
    found = [step for step in STEPS if (step.source, step.target) == (source, target)]
    assert found, f"no step leads from {source} to {target}"
    return found


def takers(source: State | None, target: State) -> set[str]:
    return {step.by for step in steps(source, target)}


def events(source: State | None, target: State) -> set[str]:
    return {step.event for step in steps(source, target)}


def is_path(*states: State) -> bool:
    return all(is_legal(source, target) for source, target in pairwise(states))


class TestTheTable:
    @pytest.mark.parametrize(("source", "target"), [*product(LIFECYCLE, State)])
    def test_a_step_is_legal_only_if_the_lifecycle_has_it(self, source: State | None, target: State) -> None:
        """S0.24: whatever is not listed is illegal."""
        assert is_legal(source, target) is (target in LIFECYCLE[source])

    def test_no_step_stands_twice(self) -> None:
        assert len({(step.source, step.target, step.event, step.by) for step in STEPS}) == len(STEPS)

    def test_every_state_has_a_meaning(self) -> None:
        assert set(MEANING) == set(State)

    def test_every_state_can_be_reached(self) -> None:
        reached = set(FIRST)
        for _ in State:
            reached |= {target for source, target in MOVES if source in reached}
        assert reached == set(State)

    def test_every_unfinished_state_leads_to_an_end(self) -> None:
        ending = set(FINAL)
        for _ in State:
            ending |= {source for source, target in MOVES if target in ending}
        assert ending == set(State)

    def test_moves_are_the_steps_of_jobs_already_recorded(self) -> None:
        assert set(MOVES) == {(step.source, step.target) for step in STEPS if step.source}
        assert len(MOVES) == len(set(MOVES))

    def test_the_events_are_the_published_words(self) -> None:
        published = {
            "created",
            "accepted",
            "scheduled",
            "queued",
            "started",
            "retrying",
            "suspended",
            "resumed",
        }
        published |= {"orphaned", "handed_back", "cancelling", "succeeded", "failed", "cancelled", "buried"}
        assert {step.event for step in STEPS} == published

    def test_only_five_kinds_of_actor_take_steps(self) -> None:
        assert {step.by for step in STEPS} == {"api", "worker", "reaper", "clock", "doctor"}

    def test_the_doctor_takes_no_step_that_the_reaper_may_not(self) -> None:
        taken = {by: {step[:3] for step in STEPS if step.by == by} for by in ("doctor", "reaper")}
        assert taken["doctor"] == taken["reaper"]


class TestTheEnd:
    def test_four_states_are_final(self) -> None:
        assert {state for state in State if state.is_final} == {SUCCEEDED, FAILED, CANCELLED, BURIED}

    @pytest.mark.parametrize("target", State)
    def test_nothing_follows_success(self, target: State) -> None:
        """S0.15, S2.16, S4.7: a job that succeeded is never run again."""
        assert SUCCEEDED.is_final
        assert not is_legal(SUCCEEDED, target)

    @pytest.mark.parametrize("target", State)
    def test_nothing_follows_failure(self, target: State) -> None:
        """S0.17, S2.17: a dead job stays dead; only a person can have it run anew, as another job."""
        assert FAILED.is_final
        assert not is_legal(FAILED, target)

    @pytest.mark.parametrize("source", [FAILED, CANCELLED])
    def test_nothing_follows_an_abort(self, source: State) -> None:
        """S4.6: given up after its last attempt or by hand, a task is over."""
        assert source.is_final
        assert not any(is_legal(source, target) for target in State)

    def test_nothing_follows_a_burial(self) -> None:
        """S4.8: what was buried stays buried."""
        assert BURIED.is_final
        assert not any(is_legal(BURIED, target) for target in State)


class TestTheBeginning:
    def test_a_job_begins_held_scheduled_or_queued_and_only_the_api_records_it(self) -> None:
        assert set(FIRST) == {CREATED, SCHEDULED, QUEUED}
        assert {step.by for step in STEPS if step.source is None} == {"api"}

    def test_only_the_api_moves_a_held_job_on(self) -> None:
        """S0.12: created is left by nobody else, and not straight into a run."""
        assert {step.by for step in STEPS if step.source is CREATED} == {"api"}
        assert not is_legal(CREATED, RUNNING)

    def test_the_api_accepts_a_held_job(self) -> None:
        """S0.18, S4.9: created leads to queued."""
        assert takers(CREATED, QUEUED) == {"api"}
        assert events(CREATED, QUEUED) == {"accepted"}

    def test_a_held_job_whose_time_is_ahead_is_accepted_into_waiting(self) -> None:
        """S4.10: created leads to scheduled."""
        assert takers(CREATED, SCHEDULED) == {"api"}

    def test_the_clock_alone_makes_a_scheduled_job_ready(self) -> None:
        """S4.13: a delayed task that is due becomes ready."""
        assert takers(SCHEDULED, QUEUED) == {"clock"}

    @pytest.mark.parametrize("source", NEVER_CLAIMED)
    def test_a_job_that_never_ran_cannot_fail_or_succeed(self, source: State) -> None:
        """S2.18, S2.19, S2.20: the way to every outcome leads through a run."""
        assert not is_legal(source, RETRYING)
        assert not is_legal(source, FAILED)
        assert not is_legal(source, SUCCEEDED)


class TestTheRun:
    def test_a_run_begins_only_with_a_worker_claiming_a_queued_job(self) -> None:
        """S0.19, S2.10, S4.14: queued leads to running, and nothing else does."""
        assert [step.source for step in STEPS if step.target is RUNNING] == [QUEUED]
        assert takers(QUEUED, RUNNING) == {"worker"}

    def test_owned_states_are_entered_and_kept_under_a_lease(self) -> None:
        assert {RUNNING, CANCELLING} == OWNED
        assert {state for state in State if state.is_owned} == OWNED

    def test_nobody_but_an_owner_reports_success(self) -> None:
        """S0.20, S2.11, S4.16: running leads to succeeded by its worker alone."""
        assert takers(RUNNING, SUCCEEDED) == {"worker"}
        assert {step.source for step in STEPS if step.target is SUCCEEDED} == OWNED

    def test_queued_running_succeeded_is_a_life(self) -> None:
        """S1.30, S3.19: the plain way."""
        assert is_path(QUEUED, RUNNING, SUCCEEDED)

    def test_queued_running_failed_is_a_life(self) -> None:
        """S3.20, S2.13, S4.17: the plain way to the dead letters."""
        assert is_path(QUEUED, RUNNING, FAILED)
        assert takers(RUNNING, FAILED) == {"worker", "reaper", "doctor"}

    def test_a_failed_attempt_may_be_tried_again_and_the_last_one_fails(self) -> None:
        """S1.31: round by the backoff as often as attempts are left, then failed."""
        assert is_path(QUEUED, RUNNING, RETRYING, QUEUED, RUNNING, FAILED)

    def test_a_recoverable_failure_waits_for_its_backoff(self) -> None:
        """S0.21, S2.12: running leads to retrying, by the owner's report."""
        assert takers(RUNNING, RETRYING) == {"worker"}

    def test_the_clock_alone_queues_a_retry_and_no_worker_takes_it_before(self) -> None:
        """S0.16, S0.22: retrying leads to queued when the backoff is over, never to running."""
        assert takers(RETRYING, QUEUED) == {"clock"}
        assert not is_legal(RETRYING, RUNNING)

    def test_a_retry_is_run_again(self) -> None:
        """S2.14: from retrying to the next run, by way of the queue."""
        assert is_path(RETRYING, QUEUED, RUNNING)

    def test_a_retry_can_be_given_up(self) -> None:
        """S2.15: retrying leads to failed, and never by the API's own hand."""
        assert takers(RETRYING, FAILED) == {"clock"}

    def test_the_api_decides_nothing_about_a_run(self) -> None:
        """S2.24: it neither starts a job nor says how one ended."""
        taken = {step.target for step in STEPS if step.by == "api"}
        assert not taken & {RUNNING, SUCCEEDED, RETRYING, FAILED, BURIED}


class TestALostWorker:
    def test_a_lost_workers_job_is_queued_again_by_the_reaper(self) -> None:
        """S1.34, S3.21, S4.15: running leads back to queued, with `orphaned` on record."""
        assert [step.by for step in steps(RUNNING, QUEUED) if step.event == "orphaned"] == [
            "reaper",
            "doctor",
        ]

    def test_a_lost_job_that_must_not_run_twice_is_buried_by_the_reaper(self) -> None:
        """S4.18: running leads to buried."""
        assert takers(RUNNING, BURIED) == {"reaper", "doctor", "worker"}

    def test_an_owner_can_hand_a_job_back(self) -> None:
        assert [step.by for step in steps(RUNNING, QUEUED) if step.event == "handed_back"] == ["worker"]

    @pytest.mark.parametrize("source", sorted(OWNED))
    def test_the_reaper_can_take_every_owned_job_from_its_owner(self, source: State) -> None:
        assert any(step.source is source and step.by == "reaper" for step in STEPS)

    def test_the_reaper_touches_only_owned_jobs(self) -> None:
        assert {step.source for step in STEPS if step.by == "reaper"} == OWNED

    def test_a_worker_touches_only_what_is_queued_or_owned_or_has_waited_for_nothing(self) -> None:
        by_workers = [step for step in STEPS if step.by == "worker"]
        assert {step.source for step in by_workers} == {QUEUED, *OWNED, SUSPENDED}
        [at_once] = [step for step in by_workers if step.source is SUSPENDED]
        assert (at_once.target, at_once.when) == (QUEUED, "what it waits for was there already")


class TestCancelling:
    def test_a_queued_job_is_cancelled_at_once(self) -> None:
        """S1.32: queued leads to cancelled."""
        assert takers(QUEUED, CANCELLED) == {"api"}

    @pytest.mark.parametrize("source", [QUEUED, SCHEDULED])
    def test_a_waiting_task_is_aborted_by_hand(self, source: State) -> None:
        """S4.19: ready and delayed tasks can be called off."""
        assert takers(source, CANCELLED) == {"api"}

    def test_a_running_job_is_asked_and_its_owner_stops_it(self) -> None:
        """S1.33: running, cancelling, cancelled; the API alone cannot skip the owner."""
        assert takers(RUNNING, CANCELLING) == {"api"}
        assert "worker" in takers(CANCELLING, CANCELLED)
        assert not is_legal(RUNNING, CANCELLED)

    @pytest.mark.parametrize("source", [state for state in State if state not in FINAL | {RUNNING}])
    def test_every_unfinished_job_can_be_cancelled(self, source: State) -> None:
        assert is_legal(source, CANCELLED)

    def test_a_job_asked_to_stop_is_not_run_again(self) -> None:
        assert {step.target for step in STEPS if step.source is CANCELLING} == {CANCELLED, SUCCEEDED, FAILED}
