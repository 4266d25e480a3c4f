"""What people are told who write jobs as they did with another job system."""

import inspect
from dataclasses import dataclass
from typing import Any

import pytest

from tenure import Context, Retry, Snooze, Tenure
from tenure.core.errors import InvalidInput
from tenure.core.values.other_words import _METHODS, OPTIONS, SCHEDULE_TERMS, TERMS
from tenure.execution.handler.context import Log
from tenure.settings.settings import Settings
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.schedule_terms import ScheduleTerms
from tenure.surfaces.library.terms import DefinitionTerms
from tenure.testing.context import RecordingContext


@dataclass
class Welcome:
    to: str
    subject: str = "Welcome"


@pytest.fixture
def app() -> Tenure:
    """An app that no test here has to connect."""
    return Tenure("sqlite:///never-opened.db", settings=Settings())


@pytest.fixture
def welcome(app: Tenure) -> Any:
    """A definition; as a type checker would not allow what is tried on it."""

    @app.job("email.welcome")
    def welcome(params: Welcome) -> None: ...

    return welcome


def send(params: dict[str, Any]) -> None: ...


def test_a_decorator_without_a_key_is_told_how_it_is_written(app: Any) -> None:
    with pytest.raises(TypeError, match=r"got 'send' for a key: every job has one, as in @app.job\(\"email"):
        app.job(send)
    with pytest.raises(TypeError, match=r"job\(\) got no key: every job has one, as in @app.job\(\"email"):
        app.job()
    with pytest.raises(TypeError, match=r"has no name=: the key comes first, as in @app.job\('mail'\)"):
        app.job(name="mail")
    assert app.specs() == []


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("max_retries", "use max_attempts=, which counts the first attempt, too"),
        ("retries", "use max_attempts="),
        ("name", 'use the key, which comes first: job("email.welcome")'),
        ("bind", "use a second parameter, as in def welcome(params, ctx)"),
        ("acks_late", "not needed: a job stays on record"),
        ("rate_limit", "there are no rates: concurrency= and limits="),
        ("autoretry_for", "use retry_on="),
        ("retry_backoff", "use retry=backoff("),
        ("countdown", "use delay= in enqueue"),
        ("eta", "use run_at= in enqueue"),
        ("cron", "use a schedule of the decorated function: welcome.schedule("),
        ("tiemout", "did you mean timeout=?"),
        ("colour", "it takes concurrency, concurrency_key, cpu, "),
    ],
)
def test_a_term_of_another_system_has_its_word_here(app: Any, term: str, word: str) -> None:
    with pytest.raises(TypeError) as refused:
        app.job("mail", **{term: 1})
    assert str(refused.value).startswith(f"job() got an unexpected keyword argument {term!r}; {word}")


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("max_retries", "use max_attempts="),
        ("countdown", "use delay=, in seconds or as a timedelta"),
        ("eta", "use run_at=, an aware datetime"),
        ("task_id", "use idempotency_key="),
        ("kwargs", 'use one object with all params, as in enqueue(Welcome(to="…"))'),
        ("prioritty", "did you mean priority=?"),
        ("colour", "it takes concurrency_keys, delay, "),
        ("to", "params are one object: write enqueue(Welcome(to=…))"),
    ],
)
def test_an_option_of_another_system_has_its_word_here(welcome: Any, option: str, word: str) -> None:
    with pytest.raises(TypeError) as refused:
        welcome.enqueue_sync(**{option: 1})
    assert str(refused.value).startswith(f"enqueue() got an unexpected keyword argument {option!r}; {word}")


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("broker", 'use the database alone, as in Tenure("postgresql://…")'),
        ("result_backend", "use the database alone"),
        ("name", "no name: `tenure worker jobs:app` finds the app by its module"),
        ("include", "use imports, in the module that `tenure worker` names"),
        ("databse", "did you mean database=?"),
        ("colour", "it takes database, namespace, settings"),
    ],
)
def test_an_option_of_another_systems_app_has_its_word_here(option: str, word: str) -> None:
    with pytest.raises(TypeError) as refused:
        Tenure(**{option: "jobs"})  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"Tenure() got an unexpected keyword argument {option!r}; {word}")


def test_a_delay_below_zero_is_shown_as_one(welcome: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^delay: is -5 s; give a value from 0 s to 3,653 days"):
        welcome.new_job({"to": "a", "subject": "b"}, delay=-5)


def test_params_given_one_by_one_are_shown_as_one_object(app: Any, welcome: Any) -> None:
    with pytest.raises(TypeError, match=r"write enqueue\(Welcome\(subject=…, to=…\)\)$"):
        welcome.new_job(to="a", subject="b", delay=5)
    untitled = app.command("named", ["probe"], params=dict[str, int])
    with pytest.raises(TypeError, match="it takes concurrency_keys"):
        untitled.new_job(to="a")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *((name, "use welcome.enqueue_sync(params), and in async code await welcome.enqueue(params)")
          for name in ("delay", "apply_async", "send", "perform_later", "defer")),
        ("perform_in", "use welcome.enqueue_sync(params), and in async code await welcome.enqueue(params)"),
        ("s", "use welcome.new_job(params)"),
        ("enqeue", "did you mean enqueue?"),
    ],
)  # fmt: skip
def test_a_method_of_another_systems_task_has_its_word_here(welcome: Any, name: str, word: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(welcome, name)
    assert str(refused.value).startswith(f"{type(welcome).__name__} has no attribute {name!r}; {word}")


def test_apps_handles_and_contexts_answer_as_well(app: Any) -> None:
    handle: Any = app.handle("01890000-0000-7000-8000-000000000001")
    context: Any = object.__new__(Context)
    for owner, name, word in (
        (app, "task", '@app.job("email.welcome")'),
        (app, "send_task", "app.enqueue_sync"),
        (handle, "revoke", "cancel()"),
        (handle, "ready", "status()"),
        (context, "retry", "tenure.Retry(after=60)"),
        (context, "update_state", "ctx.progress("),
        (context, "run", 'ctx.step("fetch", fetch, url)'),
        (context, "wait_for_signal", 'ctx.wait_for("approved"'),
        (context, "sleep_until", "ctx.sleep(3600)"),
        (handle, "send_signal", 'signal("approved", payload)'),
    ):
        with pytest.raises(AttributeError) as refused:
            getattr(owner, name)
        assert word in str(refused.value)
    for owner in (app, handle, context):
        assert not hasattr(owner, "_unknown")
        assert getattr(owner, "__deepcopy__", None) is None


def test_no_word_hides_what_exists() -> None:
    """A word that became an option of ours would still be called a mistake in the table."""
    assert not TERMS.keys() & DefinitionTerms.__annotations__.keys()
    taken = inspect.signature(JobDefinition.enqueue).parameters.keys()
    assert not OPTIONS.keys() & (taken | {"delay", "run_at", "queue", "priority", "timeout", "tags", "hold"})
    assert not SCHEDULE_TERMS.keys() & ScheduleTerms.__annotations__.keys()
    for kind in (JobDefinition, Tenure, JobHandle, Log, Context):
        assert not _METHODS[kind.__name__].keys() & set(dir(kind)), kind


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"retry": 3}, "retry: is 3; give backoff(base=1, cap=300); max_attempts= says how often"),
        ({"limits": 3}, 'limits: is 3; give sizes by name, such as {"smtp": 3}, or use concurrency='),
    ],
)
def test_values_of_another_kind_are_refused_by_name(app: Any, terms: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        app.job("mail", **terms)
    assert str(refused.value).startswith(problem)


def test_a_moment_that_is_a_number_is_refused(welcome: Any) -> None:
    with pytest.raises(InvalidInput, match="run_at: is 60; give an aware datetime; delay= takes seconds"):
        welcome.new_job(Welcome("a"), run_at=60)


@pytest.mark.parametrize("call", ["new_job", "enqueue_sync"])
def test_params_given_as_several_values_are_shown_as_one_object(app: Any, welcome: Any, call: str) -> None:
    with pytest.raises(TypeError, match=r"was given 2 values: write enqueue\(Welcome\(to=…, subject=…\)\)$"):
        getattr(welcome, call)("ada", "hello")
    untitled = app.command("named", ["probe"])
    with pytest.raises(TypeError, match=r"was given 3 values: write enqueue\(\)$"):
        getattr(untitled, call)(1, 2, 3)


async def test_so_are_those_of_async_code(welcome: Any) -> None:
    with pytest.raises(TypeError, match="was given 2 values: write enqueue"):
        await welcome.enqueue("ada", "hello")


def test_a_function_in_place_of_a_key_is_told_of_its_own_method(app: Any, welcome: Any) -> None:
    for call in (app.enqueue_sync, app.new_job):
        with pytest.raises(InvalidInput, match=r"is the function of email\.welcome; call its own"):
            call(welcome, Welcome("ada"))


def test_get_is_no_wait(app: Any) -> None:
    """In Celery `get(timeout=…)` is what waits."""
    handle: Any = app.handle("01890000-0000-7000-8000-000000000001")
    for call in (handle.get, handle.get_sync):
        with pytest.raises(TypeError, match=r"wait_sync\(timeout=30\) in plain code"):
            call(timeout=3)


@pytest.mark.parametrize(
    ("owner", "name"),
    [("app", "cron"), ("app", "schedule"), ("app", "add_periodic_task"), ("welcome", "cron")],
)
def test_words_for_schedules_lead_to_schedule(app: Any, welcome: Any, owner: str, name: str) -> None:
    with pytest.raises(AttributeError, match=r'use .*welcome\.schedule\(".*nightly", cron="0 3 \* \* \*"\)'):
        getattr({"app": app, "welcome": welcome}[owner], name)


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("tz", 'use timezone=, a name such as "Europe/Berlin"'),
        ("interval", "use every=, in seconds or as a timedelta"),
        ("catchup", 'use missed="skip", "one" or "all"'),
        ("timezoen", "did you mean timezone=?"),
        ("colour", "it takes cron, ends_at, every, "),
    ],
)
def test_a_term_of_another_systems_schedule_has_its_word_here(welcome: Any, term: str, word: str) -> None:
    with pytest.raises(TypeError) as refused:
        welcome.schedule("nightly", Welcome("ada"), **{term: 1})
    assert str(refused.value).startswith(f"schedule() got an unexpected keyword argument {term!r}; {word}")


def test_values_after_the_text_of_a_log_line_are_shown_as_fields() -> None:
    """As in `logging.info("to %s", address)`."""
    log: Any = RecordingContext().log
    for level in ("debug", "info", "warning", "error"):
        with pytest.raises(TypeError, match=rf"ctx\.log\.{level}\(\) takes one text, and was given 1 more"):
            getattr(log, level)("to %s", "ada")
    with pytest.raises(AttributeError, match=r"no attribute 'exception'; use error\(\)"):
        _ = log.exception


@pytest.mark.parametrize(
    ("directive", "given", "problem"),
    [
        (Retry, {"after": "2"}, "after: is '2'; give seconds or a timedelta"),
        (Retry, {"after": float("nan")}, "after: is nan; give seconds or a timedelta"),
        (Retry, {"after": True}, "after: is True; give seconds or a timedelta"),
        (Retry, {"message": 60}, "message: is 60; give a text; a time has its name: Retry(after=60)"),
        (Snooze, {"for_": None}, "for_: is None; give seconds or a timedelta"),
        (
            Snooze,
            {"message": 6, "for_": 1},
            "message: is 6; give a text; a time has its name: Snooze(for_=6)",
        ),
    ],
)
def test_a_time_that_is_none_is_refused_in_the_handler(
    directive: Any, given: dict[str, Any], problem: str
) -> None:
    """A `Retry-After` header is a text. Sent on, it made a report that the worker could not read."""
    with pytest.raises(InvalidInput) as refused:
        directive(**given)
    assert str(refused.value) == problem
