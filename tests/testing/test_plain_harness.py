"""The harness in plain tests: the store, the steps and the clock are real, and only processes are missing."""

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tenure import (
    Context,
    IdempotencyConflict,
    InvalidInput,
    InvalidParams,
    JobNotFound,
    State,
    Tenure,
    TenureError,
)
from tenure.testing import Harness, harness
from tests.testing.shop_app import (
    Order,
    Welcome,
    app,
    sign_up,
    welcome,
)
from tests.until import until_sync


@pytest.fixture
def t() -> Iterator[Harness]:
    with harness(app) as entered:
        yield entered


def test_code_of_the_app_enqueues_into_the_harness(t: Harness) -> None:
    sign_up("ada")
    [job] = t.assert_enqueued(welcome, {"to": "ada"}, queue="mail")
    assert (job.state, job.params, job.idempotency_key) == (
        State.QUEUED,
        {"to": "ada", "subject": "Welcome"},
        "signup-ada",
    )
    assert t.drain() == 1
    [job] = t.jobs(welcome, state="succeeded")
    assert job.result == {"sent": "ada", "attempt": 1}
    assert job.progress is not None
    assert job.progress.message == "sent"


def test_the_app_has_its_own_database_again_afterwards(tmp_path: Path) -> None:
    own = Tenure(f"sqlite:///{tmp_path}/own.db")
    job = own.job("a.job")(lambda: None)
    with own:
        first = job.enqueue_sync()
        with harness(own) as t:
            with pytest.raises(JobNotFound):
                first.get_sync()
            second = job.enqueue_sync()
            assert t.drain() == 1
        assert first.status_sync() is State.QUEUED
        with pytest.raises(JobNotFound):
            second.get_sync()
    assert not Path("no-test-may-make-this-file.db").exists()


def test_its_file_and_its_threads_are_gone_afterwards() -> None:
    before = set(threading.enumerate())
    with harness(app) as t:
        t.enqueue(welcome, Welcome("ada"))
        t.drain()
        folder = t._folder
        assert folder.exists()
    assert not folder.exists()
    until_sync(lambda: before.issuperset(threading.enumerate()))  # one that was told to end takes a moment


def test_priorities_decide_which_job_is_first(t: Harness) -> None:
    for name, priority in (("low", 0), ("high", 5)):
        t.enqueue(welcome, Welcome(name), priority=priority)
    ran: list[str] = []
    t.replace(welcome, lambda params: ran.append(params.to))
    t.drain()
    assert ran == ["high", "low"]


def test_a_limit_keeps_jobs_of_one_key_apart(t: Harness) -> None:
    """With several slots, two orders are claimed together, and never two jobs of one order."""
    together = _jobs_that_run_together(slots=4)
    assert max(together) == 2


def test_without_the_key_they_are_claimed_together() -> None:
    other = Tenure()
    seen: list[int] = []

    @other.job("free")
    def free(params: dict[str, int], ctx: Context) -> None:
        seen.append(len(h.jobs(free, state="running")))

    with harness(other, slots=4) as h:
        for n in range(4):
            free.enqueue_sync({"n": n})
        h.drain()
    assert max(seen) == 4


def _jobs_that_run_together(slots: int) -> list[int]:
    other = Tenure()
    seen: list[int] = []

    @other.job("order.pack", concurrency=1, concurrency_key="number")
    def pack_one(params: Order, ctx: Context) -> None:
        seen.append(len(h.jobs(pack_one, state="running")))

    with harness(other, slots=slots) as h:
        for number in (1, 1, 2, 2):
            pack_one.enqueue_sync(Order(number))
        assert h.drain() == 4
    return seen


def test_a_key_makes_a_second_request_the_first_job(t: Harness) -> None:
    assert sign_up("ada") == sign_up("ada")
    t.assert_enqueued(welcome, times=1)
    with pytest.raises(IdempotencyConflict):
        welcome.enqueue_sync(Welcome("grace"), idempotency_key="signup-ada")


def test_wrong_params_are_refused_as_ever(t: Harness) -> None:
    with pytest.raises(InvalidParams, match="params/tu: is not known"):
        t.enqueue("email.welcome", {"tu": "ada"})
    assert t.jobs() == []


def test_an_app_that_closes_its_database_finds_its_jobs_again(t: Harness) -> None:
    job = t.enqueue(welcome, Welcome("ada"))
    app.close_sync()
    assert t.drain() == 1
    assert job.status_sync() is State.SUCCEEDED


def test_a_definition_that_is_added_later_runs_too() -> None:
    other = Tenure()
    with harness(other) as t:
        assert t.drain() == 0
        late = other.job("late")(lambda: "run")
        job = late.enqueue_sync(queue="night")
        assert t.drain() == 1
        assert job.result_sync() == "run"


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda t: t.advance("1 hour"), "90s, 15m, 2h or 7d"),
        (lambda t: t.advance(-1), "by: is -1 s"),
        (lambda t: t.jobs(state="done"), "give one of created, scheduled"),
        (lambda t: t.enqueue("email.welcom"), "email.welcom is not known"),
        (lambda t: t.fail_next(Tenure().job("other")(lambda: None)), "other is of another app"),
        (lambda t: t.fail_next(sign_up), "give a job's function, or its key"),
        (lambda t: t.fail_next(welcome, "no"), "error: is 'no'"),
        (lambda t: t.fail_next(welcome, times=0), "times: is 0"),
        (lambda t: t.drain(rounds=0), "rounds: is 0"),
        (lambda _: harness(app, slots=0), "slots: is 0"),
        (lambda _: harness(app, at=datetime(2030, 1, 1)), "at: has no time zone"),  # noqa: DTZ001
    ],
)
def test_a_mistake_in_a_test_is_named(t: Harness, mistake: Callable[[Harness], object], said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        mistake(t)
    assert said in str(raised.value)


def test_what_is_no_app_is_refused() -> None:
    with pytest.raises(TypeError, match="takes an app"):
        harness(welcome)  # type: ignore[arg-type]


def test_an_app_is_in_one_harness_at_a_time(t: Harness) -> None:
    with pytest.raises(TenureError, match="in a harness already"), harness(app):
        pass
    t.enqueue(welcome, Welcome("ada"))
    assert t.drain() == 1


async def test_in_a_running_loop_the_plain_form_says_which_to_use() -> None:
    with harness(app) as t, pytest.raises(TenureError, match="async with harness"):
        t.drain()


def test_a_harness_that_has_ended_says_so_and_leaves_the_apps_own_database_alone(tmp_path: Path) -> None:
    own = Tenure(f"sqlite:///{tmp_path}/own.db")
    job = own.job("a.job")(lambda: None)
    with harness(own) as t:
        pass
    calls: list[Callable[[], object]] = [
        lambda: t.enqueue(job),
        lambda: t.enqueue("a.job"),
        lambda: t.fail_next(job),
        lambda: t.advance("1h"),
        t.drain,
        t.jobs,
    ]
    for call in calls:
        with pytest.raises(TenureError, match="the harness has ended: use it inside its block"):
            call()
    assert not (tmp_path / "own.db").exists()


def test_what_stands_in_is_a_function(t: Harness) -> None:
    with pytest.raises(InvalidInput, match="function: is 3"):
        t.replace(welcome, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="times: is -1"):
        t.assert_enqueued(welcome, times=-1)


def test_a_wait_in_a_harness_is_told_of_drain_not_of_workers(t: Harness) -> None:
    job = t.enqueue(welcome, Welcome("ada"))
    with pytest.raises(TimeoutError, match=r"had not ended after 0 s\. In a harness .* call drain\(\)"):
        job.wait_sync(timeout=0)
    later = t.enqueue(welcome, Welcome("grace"), delay=60)
    why = later.why_sync()
    assert (why.code, why.data.also) == ("scheduled", [])


@pytest.mark.parametrize(
    ("name", "word"),
    [("run_all", "use drain()"), ("travel", 'use advance("1h")'), ("drian", "did you mean drain?")],
)
def test_a_word_of_another_harness_has_its_word_here(t: Harness, name: str, word: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(t, name)
    assert str(refused.value) == f"Harness has no attribute {name!r}; {word}"


def test_a_harness_that_is_not_entered_says_so() -> None:
    with pytest.raises(AttributeError, match="not entered: write `with harness"):
        harness(app).drain()  # type: ignore[attr-defined]
