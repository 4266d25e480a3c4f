"""What a test asserts about enqueued jobs, and what it is told when that fails."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tenure import InvalidParams, Tenure, UnknownDefinition
from tenure.testing import Harness, harness
from tests.testing.shop_app import Order, Welcome, app, pack, place, welcome


@pytest.fixture
def t() -> Iterator[Harness]:
    with harness(app) as entered:
        yield entered


def test_an_assertion_finds_jobs_whatever_became_of_them(t: Harness) -> None:
    t.enqueue(welcome, Welcome("ada"))
    t.enqueue(welcome, Welcome("grace", "Hello"), delay=60)
    t.drain()
    assert [job.state for job in t.assert_enqueued(welcome, times=2)] == ["succeeded", "scheduled"]


@pytest.mark.parametrize(
    "params", [Welcome("ada"), {"to": "ada"}, {"subject": "Welcome", "to": "ada"}], ids=str
)
def test_params_are_the_same_if_a_handler_sees_no_difference(t: Harness, params: object) -> None:
    t.enqueue(welcome, Welcome("ada"))
    t.enqueue("email.welcome", {"to": "ada"})
    t.assert_enqueued(welcome, params, times=2)
    t.assert_not_enqueued(welcome, {"to": "ada", "subject": "Hello"})


def test_params_of_any_type_are_compared() -> None:
    @dataclass(eq=False)
    class Unequal:
        to: str

    other = Tenure()

    @other.job("unequal")
    def unequal(params: Unequal) -> None: ...

    @other.job("free")
    def free(params: dict[str, int]) -> None: ...

    with harness(other) as t:
        unequal.enqueue_sync(Unequal("ada"))
        t.assert_enqueued(unequal, Unequal("ada"))
        t.assert_not_enqueued(unequal, Unequal("grace"))
        free.enqueue_sync({"a": 1, "b": 2})
        t.assert_enqueued(free, {"b": 2, "a": 1})
        t.assert_not_enqueued(free, {"a": 1})


def test_a_failed_assertion_shows_what_was_enqueued_instead(t: Harness) -> None:
    with pytest.raises(AssertionError) as nothing:
        t.assert_enqueued(welcome)
    assert str(nothing.value) == "no job of email.welcome@1 was enqueued; nothing was"
    t.enqueue(welcome, Welcome("ada"))
    t.enqueue(pack, Order(1), queue="night")
    with pytest.raises(AssertionError) as other:
        t.assert_enqueued(welcome, {"to": "grace"}, queue="mail")
    assert str(other.value).splitlines() == [
        "no job of email.welcome@1 with params {'to': 'grace'} in queue mail was enqueued; these were:",
        "  email.welcome@1 in queue mail: queued, params {'to': 'ada', 'subject': 'Welcome'}",
        "  order.pack@1 in queue night: queued, params {'number': 1, 'items': 2}",
    ]


def test_a_job_of_another_queue_or_too_many_do_not_fit(t: Harness) -> None:
    t.enqueue(welcome, Welcome("ada"))
    with pytest.raises(AssertionError, match=r"no job of email\.welcome@1 in queue night"):
        t.assert_enqueued(welcome, queue="night")
    with pytest.raises(AssertionError, match=r"1 jobs of email\.welcome@1 were enqueued, not 2"):
        t.assert_enqueued(welcome, times=2)
    with pytest.raises(AssertionError, match=r"1 jobs of email\.welcome@1 were enqueued, not 0"):
        t.assert_not_enqueued(welcome)
    t.assert_not_enqueued(place)


def test_a_mistake_in_the_assertion_is_not_a_success(t: Harness) -> None:
    """A name that is spelt wrong is enqueued by nobody, and a test would pass for ever."""
    with pytest.raises(UnknownDefinition):
        t.assert_not_enqueued("email.welcom")
    with pytest.raises(InvalidParams):
        t.assert_not_enqueued(welcome, {"too": "ada"})


def test_many_jobs_are_listed_and_few_are_shown(t: Harness) -> None:
    welcome.enqueue_many_sync([Welcome(f"a{n}") for n in range(450)])
    assert [job.params["to"] for job in t.jobs(welcome)] == [f"a{n}" for n in range(450)]
    with pytest.raises(AssertionError, match=r"a19'(.|\n)*… and 430 more"):
        t.assert_enqueued(pack)


def test_a_job_says_in_a_line_what_it_is(t: Harness) -> None:
    t.fail_next(welcome, ValueError("no"))
    t.enqueue(welcome, Welcome("ada"))
    t.drain()
    [job] = t.jobs()
    assert repr(job).startswith("<job email.welcome@1 in queue mail: retrying, due ")
    assert "ValueError: no, params {'to': 'ada', 'subject': 'Welcome'}, attempt 1, result None" in repr(job)
