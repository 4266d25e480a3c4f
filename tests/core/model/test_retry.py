"""How an attempt ended decides what follows: the formula of the backoff, and which rule goes first."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.errors import Fatal, JobNotFound, Retry, Snooze
from tenure.core.model.outcome import Outcome, Recoverable, Stopped, Succeeded, Suspended, Unrecoverable
from tenure.core.model.policy import RetryPolicy
from tenure.core.model.retry import (
    LONGEST_MESSAGE,
    LONGEST_TRACEBACK,
    AttemptEnd,
    Crashed,
    FatalAsked,
    OutOfMemory,
    Raised,
    RetryAsked,
    Returned,
    SnoozeAsked,
    TimedOut,
    WasStopped,
    backoff,
    decide,
    describe,
    qualified_name,
)
from tenure.core.values.bounds import HORIZON
from tenure.core.values.documents import Document, read, write
from tenure.core.values.failure import Failure

ERROR = Failure("shop.Declined", "card declined")
LINEAGE = ("shop.Declined", "shop.PaymentError", "Exception", "BaseException")

attempts = st.integers(1, 100)
fractions = st.floats(0, 1, exclude_max=True)
durations = st.integers(0, 7 * 86_400_000).map(lambda millis: timedelta(milliseconds=millis))


def seconds(amount: float) -> timedelta:
    return timedelta(seconds=amount)


def always(fraction: float) -> Callable[[], float]:
    return lambda: fraction


def raised(asked: RetryAsked | SnoozeAsked | FatalAsked | None = None) -> Raised:
    return Raised(ERROR, LINEAGE, asked)


def after(end: AttemptEnd, *, retry_on: tuple[str, ...] = (), fatal_on: tuple[str, ...] = ()) -> Outcome:
    policy = RetryPolicy(base=seconds(1), retry_on=retry_on, fatal_on=fatal_on)
    return decide(end, 1, policy, always(0))


class TestBackoff:
    @pytest.mark.parametrize(
        ("attempt", "fraction", "expected"),
        [
            (1, 0, 2),
            (2, 0, 4),
            (3, 0, 8),
            (8, 0, 256),
            (1, 0.5, 2.5),
            (8, 0.5, 256.5),
            (9, 0, 300),
            (100, 0.9, 300),
        ],
    )
    def test_the_wait_doubles_with_every_attempt_up_to_the_cap(
        self, attempt: int, fraction: float, expected: float
    ) -> None:
        """S1.35: min(cap, base * 2^attempt + jitter), here with base 1 s and cap 300 s."""
        assert backoff(attempt, RetryPolicy(), always(fraction)) == seconds(expected)

    def test_the_cap_comes_after_the_jitter(self) -> None:
        """S1.35: no jitter carries a wait over the cap."""
        policy = RetryPolicy(base=seconds(10), cap=seconds(45))
        assert backoff(2, policy, always(0.25)) == seconds(42.5)
        assert backoff(2, policy, always(0.75)) == seconds(45)

    @given(attempts, durations, durations, fractions)
    def test_the_wait_stays_between_the_bare_power_and_one_base_more(
        self, attempt: int, one: timedelta, other: timedelta, fraction: float
    ) -> None:
        base, cap = sorted((one, other))
        wait = backoff(attempt, RetryPolicy(base=base, cap=cap), always(fraction))
        rounding = timedelta(microseconds=1)
        if base.total_seconds() * 2**attempt > 10**7:
            assert wait == cap
        else:
            assert min(cap, base * 2**attempt) - rounding <= wait
            assert wait <= min(cap, base * 2**attempt + base) + rounding

    @given(attempts, durations, fractions)
    def test_the_wait_never_shrinks_from_one_attempt_to_the_next(
        self, attempt: int, base: timedelta, fraction: float
    ) -> None:
        policy = RetryPolicy(base=base, cap=timedelta(days=7))
        assert backoff(attempt, policy, always(fraction)) <= backoff(attempt + 1, policy, always(fraction))

    @pytest.mark.parametrize("attempt", [100, 1_100, 10**9])
    def test_late_attempts_wait_for_the_cap_without_overflow(self, attempt: int) -> None:
        policy = RetryPolicy(base=timedelta(days=7), cap=timedelta(days=7))
        assert backoff(attempt, policy, always(0.99)) == timedelta(days=7)

    def test_no_base_means_no_wait(self) -> None:
        assert backoff(50, RetryPolicy(base=seconds(0)), always(0.99)) == seconds(0)


class TestEndings:
    def test_a_handler_that_returned_succeeded(self) -> None:
        assert after(Returned(Document("[1]"))) == Succeeded(Document("[1]"))

    def test_an_attempt_that_was_stopped_is_neither_success_nor_failure(self) -> None:
        assert after(WasStopped()) == Stopped()

    def test_an_exception_may_be_tried_again_after_the_backoff(self) -> None:
        assert after(raised()) == Recoverable(ERROR, seconds(2))

    def test_the_number_of_the_attempt_sets_the_wait(self) -> None:
        assert decide(raised(), 3, RetryPolicy(), always(0.5)) == Recoverable(ERROR, seconds(8.5))

    @pytest.mark.parametrize(
        ("end", "kind"),
        [
            (Crashed(Failure("Crashed", "signal 11")), "Crashed"),
            (TimedOut(seconds(90)), "TimedOut"),
            (OutOfMemory(), "OutOfMemory"),
        ],
    )
    def test_an_attempt_that_could_not_speak_may_be_tried_again(self, end: AttemptEnd, kind: str) -> None:
        outcome = after(end, retry_on=("shop.Busy",), fatal_on=("Exception",))
        assert isinstance(outcome, Recoverable)
        assert outcome.error.kind == kind
        assert outcome.after == seconds(2)

    def test_a_time_out_says_how_long_it_waited(self) -> None:
        outcome = after(TimedOut(seconds(90)))
        assert isinstance(outcome, Recoverable)
        assert "0:01:30" in outcome.error.message

    @pytest.mark.parametrize(
        "end",
        [
            Returned(Document("{}")),
            raised(),
            raised(RetryAsked(seconds(1.5))),
            raised(RetryAsked()),
            raised(SnoozeAsked(seconds(2))),
            raised(FatalAsked()),
            Crashed(ERROR),
            TimedOut(seconds(1)),
            OutOfMemory(),
            WasStopped(),
        ],
    )
    def test_an_ending_can_travel_between_processes(self, end: AttemptEnd) -> None:
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(end), type=AttemptEnd) == end


class TestPrecedence:
    @pytest.mark.parametrize("named", LINEAGE)
    def test_an_exception_named_fatal_by_itself_or_a_base_ends_the_job(self, named: str) -> None:
        assert after(raised(), fatal_on=(named,)) == Unrecoverable(ERROR)

    def test_naming_what_to_retry_makes_everything_else_fatal(self) -> None:
        assert after(raised(), retry_on=("shop.Busy",)) == Unrecoverable(ERROR)
        assert after(raised(), retry_on=("shop.Busy", "shop.PaymentError")) == Recoverable(ERROR, seconds(2))

    def test_naming_what_is_fatal_leaves_everything_else_to_be_retried(self) -> None:
        assert after(raised(), fatal_on=("shop.Busy",)) == Recoverable(ERROR, seconds(2))

    def test_the_most_specific_name_wins_whichever_list_it_is_on(self) -> None:
        general, specific = ("Exception",), ("shop.PaymentError",)
        assert after(raised(), fatal_on=general, retry_on=specific) == Recoverable(ERROR, seconds(2))
        assert after(raised(), fatal_on=specific, retry_on=general) == Unrecoverable(ERROR)

    def test_a_name_on_both_lists_is_fatal(self) -> None:
        assert after(raised(), fatal_on=LINEAGE[:1], retry_on=LINEAGE[:1]) == Unrecoverable(ERROR)

    def test_part_of_a_name_is_not_the_name(self) -> None:
        assert after(raised(), fatal_on=("Declined", "shop")) == Recoverable(ERROR, seconds(2))

    @pytest.mark.parametrize("kind", ["ResultNotJson", "ResultTooLarge"])
    @pytest.mark.parametrize("bases", [(), ("ProgramFailed", "TenureError", "Exception")])
    def test_a_result_that_cannot_be_kept_is_fatal_unless_it_is_named(
        self, kind: str, bases: tuple[str, ...]
    ) -> None:
        error = Failure(kind, "the handler's result")
        end = Raised(error, (kind, *bases))
        assert after(end) == after(end, retry_on=("shop.Busy",)) == Unrecoverable(error)
        assert after(end, retry_on=(kind,)) == Recoverable(error, seconds(2))

    def test_asking_for_a_retry_beats_the_lists(self) -> None:
        assert after(raised(RetryAsked(seconds(9))), fatal_on=LINEAGE) == Recoverable(ERROR, seconds(9))
        assert after(raised(RetryAsked()), fatal_on=LINEAGE) == Recoverable(ERROR, seconds(2))
        assert after(raised(RetryAsked()), retry_on=("shop.Busy",)) == Recoverable(ERROR, seconds(2))

    def test_asking_to_snooze_beats_the_lists(self) -> None:
        assert after(raised(SnoozeAsked(seconds(9))), fatal_on=LINEAGE) == Suspended(seconds(9))

    def test_giving_up_beats_the_lists(self) -> None:
        assert after(raised(FatalAsked()), retry_on=LINEAGE) == Unrecoverable(ERROR)

    def test_a_wait_of_the_handlers_choosing_may_pass_the_cap_but_not_all_bounds(self) -> None:
        assert after(raised(RetryAsked(seconds(86_400)))) == Recoverable(ERROR, seconds(86_400))
        assert after(raised(RetryAsked(seconds(-5)))) == Recoverable(ERROR, seconds(0))
        assert after(raised(SnoozeAsked(timedelta.max))) == Suspended(HORIZON)
        assert after(raised(SnoozeAsked(timedelta.min))) == Suspended(seconds(0))


class Declined(LookupError):
    """An exception of an application."""


class Unspeakable(Exception):
    """An exception whose message cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class TestDescribe:
    def test_an_exception_is_told_by_name_message_traceback_and_lineage(self) -> None:
        try:
            raise Declined("card declined") from ValueError("bad digit")
        except Declined as error:
            described = describe(error)
        assert described.lineage == (f"{__name__}.Declined", "LookupError", "Exception", "BaseException")
        assert described.asked is None
        assert (described.error.kind, described.error.message) == (described.lineage[0], "card declined")
        assert described.error.traceback is not None
        assert "ValueError: bad digit" in described.error.traceback
        assert described.error.traceback.endswith("Declined: card declined\n")

    def test_what_is_described_is_found_on_a_list_of_names(self) -> None:
        assert isinstance(after(describe(Declined()), fatal_on=(qualified_name(Declined),)), Unrecoverable)
        assert isinstance(after(describe(Declined()), fatal_on=(qualified_name(LookupError),)), Unrecoverable)

    @pytest.mark.parametrize(
        ("directive", "asked"),
        [
            (Retry("later", after=seconds(5)), RetryAsked(seconds(5))),
            (Retry(), RetryAsked(None)),
            (Snooze(for_=2.5), SnoozeAsked(seconds(2.5))),
            (Fatal("no such customer"), FatalAsked()),
        ],
    )
    def test_a_directive_is_told_as_what_it_asks_for(
        self, directive: Exception, asked: RetryAsked | SnoozeAsked | FatalAsked
    ) -> None:
        assert describe(directive).asked == asked

    def test_our_own_exceptions_are_named_as_users_import_them(self) -> None:
        """The module of one of Tenure's classes means nothing to a reader of a dead letter."""
        assert describe(Fatal("too long")).error.kind == "Fatal"
        assert isinstance(after(describe(JobNotFound(UUID(int=1))), fatal_on=("JobNotFound",)), Unrecoverable)

    @given(st.text(st.characters()))
    def test_whatever_an_exception_says_can_be_stored(self, message: str) -> None:
        error = describe(RuntimeError(message)).error
        document = write(error)
        assert msgspec.convert(read(document), Failure) == error

    def test_a_very_long_message_keeps_its_head_and_its_traceback_the_tail(self) -> None:
        error = describe(RuntimeError("<" + "é" * 200_000 + ">")).error
        assert error.traceback is not None
        assert error.message.startswith("<é")
        assert error.traceback.endswith("é>\n")
        assert len(error.message.encode()) <= LONGEST_MESSAGE
        assert len(error.traceback.encode()) <= LONGEST_TRACEBACK

    def test_an_exception_that_cannot_speak_is_told_all_the_same(self) -> None:
        described = describe(Unspeakable())
        assert described.error.kind == f"{__name__}.Unspeakable"
        assert "cannot be read" in described.error.message

    def test_an_endless_recursion_is_told_briefly(self) -> None:
        def sink() -> None:
            sink()

        with pytest.raises(RecursionError) as caught:
            sink()
        described = describe(caught.value)
        assert described.lineage[0] == "RecursionError"
        assert described.error.traceback is not None
        assert len(described.error.traceback) < 5_000
