"""A value checks itself when it is made, so one that exists can be stored."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order, Progress, Pulse
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.values.bounds import HORIZON, LARGEST_BATCH

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

BAD_NAMES = ["", " ", "a b", "-a", ".a", "a/b", "é", "a\n", "a\x00", "../x", "x" * 121]
GOOD_NAMES = ["a", "9", "mail.welcome", "a:b_c-d.E", "x" * 120]


def refused(make: type, **fields: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        make(**fields)
    return caught.value


class TestNewJob:
    def test_a_definition_is_all_a_job_needs(self) -> None:
        job = NewJob(definition="mail.welcome")
        assert (job.version, job.queue, job.namespace, job.priority) == (1, "default", "default", 0)
        assert (job.params, job.key, job.hold) == ("{}", None, False)

    @pytest.mark.parametrize("field", ["definition", "queue", "namespace"])
    @pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
    def test_what_is_not_a_name_is_refused(self, field: str, name: str) -> None:
        assert refused(NewJob, **{"definition": "a", field: name}).field == field

    @pytest.mark.parametrize("field", ["definition", "queue", "namespace"])
    @pytest.mark.parametrize("name", GOOD_NAMES)
    def test_names_of_letters_digits_and_a_few_signs_are_taken(self, field: str, name: str) -> None:
        fields: dict[str, Any] = {"definition": "a", field: name}
        assert getattr(NewJob(**fields), field) == name

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("version", 0),
            ("version", -1),
            ("version", 2**31),
            ("priority", -32_768),
            ("priority", 32_768),
            ("key", ""),
            ("key", "x" * 256),
            ("key", "a\nb"),
            ("key", "a\x00b"),
            ("key", "\ud800"),
            ("scope", "x" * 256),
            ("scope", "\x00"),
            ("run_at", NOON.replace(tzinfo=None)),
            ("delay", -TICK),
            ("delay", HORIZON + TICK),
            ("traceparent", "x" * 256),
            ("traceparent", "\x00"),
        ],
        ids=lambda part: ascii(part)[:24],
    )
    def test_a_field_that_cannot_be_stored_is_refused_by_name(self, field: str, value: object) -> None:
        assert refused(NewJob, **{"definition": "a", field: value}).field == field

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("version", 2**31 - 1),
            ("priority", -32_767),
            ("priority", 32_767),
            ("key", "x" * 255),
            ("key", "Bestellung Nr. 17/é"),
            ("scope", "x" * 255),
            ("run_at", NOON),
            ("delay", timedelta(0)),
            ("delay", HORIZON),
        ],
        ids=lambda part: ascii(part)[:24],
    )
    def test_a_field_at_the_edge_of_its_range_is_taken(self, field: str, value: object) -> None:
        fields: dict[str, Any] = {"definition": "a", field: value}
        assert getattr(NewJob(**fields), field) == value

    def test_a_time_and_a_delay_exclude_each_other(self) -> None:
        assert refused(NewJob, definition="a", run_at=NOON, delay=DAY).remedy == "give one of the two"

    def test_a_refusal_tells_the_field_the_problem_and_the_way_out(self) -> None:
        error = refused(NewJob, definition="a", priority=40_000)
        assert str(error) == "priority: is 40000; give a value from -32767 to 32767"

    def test_a_job_cannot_be_changed_once_made(self) -> None:
        with pytest.raises(AttributeError):
            NewJob(definition="a").priority = 5  # type: ignore[misc]


class TestPolicy:
    def test_the_defaults_are_three_attempts_of_an_hour(self) -> None:
        policy = Policy()
        assert (policy.max_attempts, policy.timeout, policy.on_lost) == (3, timedelta(hours=1), OnLost.RETRY)
        assert (policy.retry.base, policy.retry.cap) == (timedelta(seconds=1), timedelta(seconds=300))

    @pytest.mark.parametrize("max_attempts_", [1, 3, 100])
    def test_a_job_that_must_not_run_twice_has_one_attempt(self, max_attempts_: int) -> None:
        assert Policy(on_lost=OnLost.BURY, max_attempts=max_attempts_).max_attempts == 1

    def test_a_policy_that_was_stored_is_read_back_the_same(self) -> None:
        policy = Policy(on_lost=OnLost.BURY, retry=RetryPolicy(fatal_on=("ValueError",)))
        assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("max_attempts", 0),
            ("max_attempts", 101),
            ("timeout", timedelta(seconds=1) - TICK),
            ("timeout", 7 * DAY + TICK),
            ("grace", -TICK),
            ("grace", TICK),
            ("timeout", timedelta(seconds=1) + TICK),
            ("grace", DAY + TICK),
        ],
    )
    def test_a_limit_out_of_range_is_refused_by_name(self, field: str, value: object) -> None:
        assert refused(Policy, **{field: value}).field == field

    @pytest.mark.parametrize(
        ("field", "base", "cap"),
        [
            ("retry.base", -TICK, DAY),
            ("retry.base", 7 * DAY + TICK, 8 * DAY),
            ("retry.cap", DAY, DAY - TICK),
            ("retry.cap", DAY, 7 * DAY + TICK),
        ],
    )
    def test_a_backoff_out_of_range_is_refused_by_name(
        self, field: str, base: timedelta, cap: timedelta
    ) -> None:
        assert refused(RetryPolicy, base=base, cap=cap).field == field


class TestWhatAWorkerSays:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("worker", ""),
            ("worker", "x" * 256),
            ("worker", "a\nb"),
            ("limit", -1),
            ("limit", LARGEST_BATCH + 1),
            ("lease_for", timedelta(0)),
            ("lease_for", DAY + TICK),
        ],
        ids=lambda part: ascii(part)[:24],
    )
    def test_an_order_out_of_range_is_refused_by_name(self, field: str, value: object) -> None:
        order = {"worker": "a", "lines": (Line("default", "a"),), "limit": 1}
        assert refused(Order, **{**order, field: value}).field == field

    @pytest.mark.parametrize("fraction", [-0.01, 1.01, float("nan"), float("inf")])
    def test_progress_is_a_fraction(self, fraction: float) -> None:
        assert refused(Progress, fraction=fraction).field == "fraction"

    @pytest.mark.parametrize("message", ["x" * 1_001, "\x00"], ids=lambda text: ascii(text)[:24])
    def test_progress_takes_a_few_words(self, message: str) -> None:
        assert refused(Progress, fraction=0.5, message=message).field == "message"

    @pytest.mark.parametrize(
        ("field", "value"),
        [("worker", ""), ("lease_for", -TICK), ("lease_for", timedelta.max)],
        ids=lambda part: ascii(part)[:24],
    )
    def test_a_pulse_out_of_range_is_refused_by_name(self, field: str, value: object) -> None:
        assert refused(Pulse, **{"worker": "a", "leases": [], field: value}).field == field

    @pytest.mark.parametrize(
        ("field", "value"), [("queue", "a b"), ("definition", "\ud800"), ("version", 0), ("version", True)]
    )
    def test_a_line_has_names_and_a_version(self, field: str, value: object) -> None:
        assert refused(Line, **{"queue": "default", "definition": "a", field: value}).field == field
