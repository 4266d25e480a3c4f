"""Words of other job systems, and Tenure's own for them: what a wrong name gets as an answer.

Most people who write their first job have written jobs before, with Celery, RQ, Dramatiq, Huey, Arq,
Procrastinate or Sidekiq. An option or a method of theirs is answered with the right word, any other unknown
name with the nearest one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    """One word of ours by each of theirs, which stand in one text."""
    return {name: word for names, word in rows for name in names.split()}


_ATTEMPTS = "max_attempts=, which counts the first attempt, too"
_PAUSE = "retry=backoff(base=…, cap=…)"
_RESULTS = "not needed: results are kept with their jobs, and `tenure retention` says for how long"
_SCHEDULES = 'a schedule of the decorated function: welcome.schedule("welcome.nightly", cron="0 3 * * *")'
_RATES = "there are no rates: concurrency= and limits= bound how many jobs run at once"
_KEPT = "not needed: a job stays on record until its outcome is, and on_lost= says what follows a lost worker"
_RAISE = "exceptions in the handler: each is tried again, tenure.Retry(after=60) in a minute"
_ON_COMMIT = "{own}.enqueue_sync(params, connection=connection) inside atomic()"
_ENQUEUE = "{own}.enqueue_sync(params), and in async code await {own}.enqueue(params)"

_SHARED = _table(
    ("max_retries retries retry_limit max_tries tries attempts", _ATTEMPTS),
    ("time_limit soft_time_limit job_timeout max_time max_runtime", "timeout="),
    ("queue_name routing_key exchange", "queue="),
    ("serializer accept_content compression", "not needed: params and results are JSON"),
    ("ignore_result store_results result_ttl failure_ttl keep_result result_expires retention", _RESULTS),
    (
        "on_success on_failure link link_error callback errback",
        "hooks, such as @welcome.on_success",
    ),
    ("unique unique_for unique_key dedup_key lock queueing_lock", "idempotency_key=, given to enqueue"),
    ("rate_limit rate throttle", _RATES),
    ("cron crontab every schedule repeat interval periodic beat", _SCHEDULES),
    ("tag labels", "tags="),
    ("expires ttl expiry", "there is no expiry yet: cancel() ends a job"),
)

TERMS = _SHARED | _table(
    (
        "name task_name actor_name job_type id",
        'the key, which comes first: {call}("email.welcome")',
    ),
    ("bind pass_context context", "a second parameter, as in def welcome(params, ctx)"),
    ("acks_late acks_on_failure_or_timeout reject_on_worker_lost", _KEPT),
    ("autoretry_for retry_for retry_when", "retry_on="),
    ("throws dont_autoretry_for discard_on no_retry_on", "fatal_on="),
    ("retry_backoff retry_backoff_max retry_jitter retry_delay retry_kwargs retry_strategy", _PAUSE),
    ("default_retry_delay min_backoff max_backoff backoff", _PAUSE),
    ("max_concurrency concurrency_limit max_instances max_parallel", "concurrency="),
    ("env env_vars envvars", "environment=, a list of names"),
    ("memory_limit max_memory", "memory="),
    ("pool executor isolation", "lane="),
    ("delay countdown", "delay= in enqueue, for one job"),
    ("eta run_at", "run_at= in enqueue, for one job"),
    ("hold idempotency_key", "it in enqueue, for one job"),
    ("params base schema", "the type of the function's first parameter"),
)
"""What `@app.job` is given elsewhere."""

OPTIONS = _SHARED | _table(
    ("countdown delay_seconds defer_by schedule_in wait in_", "delay=, in seconds or as a timedelta"),
    ("eta at scheduled_at schedule_at wait_until defer_until", "run_at=, an aware datetime"),
    ("task_id job_id message_id id key jid unique unique_key", "idempotency_key="),
    ("args kwargs payload data parameters", 'one object with all params, as in enqueue(Welcome(to="…"))'),
    ("retry retry_policy retry_on", "it in @app.job; one job may have max_attempts="),
    ("depends_on after chain", "ctx.enqueue, in the handler that comes before"),
    ("meta headers description", "tags=, or a field of the params"),
    ("transaction session conn using", "connection="),
)
"""What `enqueue` is given elsewhere."""

SCHEDULE_TERMS = _table(
    ("tz zone time_zone timezone_name", 'timezone=, a name such as "Europe/Berlin"'),
    ("schedule crontab expression cron_string spec trigger at", 'cron=, such as "0 3 * * *"'),
    ("interval seconds minutes hours days period run_every", "every=, in seconds or as a timedelta"),
    ("start start_time start_date start_at first_run", "starts_at="),
    ("end end_time end_date until end_at expires", "ends_at="),
    ("catchup catch_up misfire misfire_grace_time backfill coalesce", 'missed="skip", "one" or "all"'),
    ("max_instances unique concurrency lock", 'overlap="skip", "queue", "cancel" or "allow"'),
    ("args kwargs payload data", "params=, one object with all of them"),
    ("key id task", 'the name, which comes first: schedule("welcome.nightly", cron="0 3 * * *")'),
    ("max_retries retries", _ATTEMPTS),
    ("enabled is_active paused", "the command `tenure schedules pause NAME`"),
)
"""What a schedule is given elsewhere."""

_DATABASE = 'the database alone, as in Tenure("postgresql://…"); jobs and results are kept there'
_APP_OPTIONS = _table(
    ("broker backend broker_url result_backend dsn redis redis_url url connection store", _DATABASE),
    ("name main app_name", "no name: `tenure worker jobs:app` finds the app by its module"),
    ("include imports", "imports, in the module that `tenure worker` names"),
    ("config", "variables TENURE_…, tenure.toml, and settings="),
)
"""What an app is given elsewhere."""

_METHODS = {
    "JobDefinition": _table(
        ("delay apply_async apply send perform_async perform_later kiq defer defer_async", _ENQUEUE),
        ("submit push queue dispatch", _ENQUEUE),
        ("delay_on_commit apply_async_on_commit", _ON_COMMIT),
        ("cron crontab every periodic beat repeat", '{own}.schedule("nightly", cron="0 3 * * *")'),
        ("enqueue_in enqueue_at perform_in perform_at", f"{_ENQUEUE}, with delay= or run_at="),
        ("send_with_options options configure set", f"{_ENQUEUE}, with options such as delay="),
        ("s si signature message", "{own}.new_job(params), for app.enqueue_many"),
        ("map starmap chunks batch defer_many", "{own}.enqueue_many_sync([…])"),
        ("call_local run fn call", "{own}(params), which calls the plain function"),
        ("retry", _RAISE),
    ),
    "Tenure": _table(
        ("task actor background_task register tasks", '@app.job("email.welcome")'),
        ("periodic_task periodic cron schedule scheduler every beat", _SCHEDULES),
        ("add_periodic_task on_after_configure crontab", _SCHEDULES),
        ("send_task send push defer delay", "app.enqueue_sync(key, params)"),
        ("fetch_job get_job AsyncResult result", "app.handle(id)"),
        ("conf config config_from_object", "variables TENURE_…, tenure.toml, and settings="),
        ("worker_main run_worker run start serve", "the command `tenure worker jobs:app`"),
        ("autodiscover_tasks", "imports, in the module that `tenure worker` names"),
    ),
    "JobHandle": _table(
        ("ready successful failed is_finished state get_status", "status(), and status_sync() in plain code"),
        ("refresh info", "get(), and get_sync() in plain code: the whole record"),
        (
            "progress meta params args kwargs error exc_info traceback created_at attempt",
            "get(), and get_sync() in plain code: the record has progress, params, error, attempt …",
        ),
        ("revoke abort terminate stop delete kill", "cancel(), and cancel_sync() in plain code"),
        ("join return_value latest_result value", "wait(), and wait_sync() in plain code"),
        ("task_id job_id", "id"),
        ("retry requeue", "the command `tenure jobs replay ID`"),
        ("perform_now enqueue_now add_to_queue promote", "run_now(), and run_now_sync() in plain code"),
        ("postpone defer snooze schedule", "reschedule(run_at=…), and reschedule_sync() in plain code"),
        (
            "send send_signal send_event notify approve raise_event",
            'signal("approved", payload), and signal_sync() in plain code',
        ),
        (
            "query progress_of history",
            "get(), steps() and events(), and their twins with _sync in plain code",
        ),
    ),
    "Log": _table(
        ("warn", "warning()"),
        ("critical fatal log msg notice", "error(), warning(), info() or debug()"),
        ("exception", "error(); what the handler raises is kept with its traceback"),
        ("bind", 'fields in each call, as in ctx.log.info("sending", to=address)'),
    ),
    "Context": _table(
        ("retry", _RAISE),
        ("request job message", "job_id, attempt, queue and params in ctx itself"),
        ("update_state set_progress save_meta meta", 'ctx.progress(0.5, "half done")'),
        ("logger logging", "ctx.log"),
        ("retries attempts job_try", "ctx.attempt"),
        ("id task_id", "ctx.job_id"),
        ("is_aborted aborted", "ctx.cancelled"),
        (
            "run do execute activity execute_activity call_activity start_activity memo task",
            'ctx.step("fetch", fetch, url), which keeps the result for later attempts',
        ),
        (
            "wait_for_signal wait_for_event wait_signal wait_condition wait_until recv receive event",
            'ctx.wait_for("approved", timeout=86400)',
        ),
        ("sleep_for sleep_until pause delay timer", "ctx.sleep(3600), which gives the slot back"),
        ("save save_state set_state get_state store persist", "ctx.state, a dict, and ctx.checkpoint()"),
        ("side_effect effect exactly_once", 'ctx.once("charge", charge, 7)'),
        (
            "continue_as_new reset_state clear",
            "ctx.forget(), which removes finished steps and keeps ctx.state",
        ),
    ),
    "BoundApp": _table(
        (
            "run run_all run_pending run_jobs work perform perform_enqueued_jobs execute flush burst",
            "drain()",
        ),
        ("tick travel travel_to move_to sleep freeze wait advance_to advance_time", 'advance("1h")'),
        ("enqueued enqueued_jobs queue pending results", "jobs()"),
        ("patch mock stub override fake", "replace(definition, function)"),
        ("fail raise_next", "fail_next(definition, error)"),
        ("trigger fire schedules", 'advance("1d"), which fires schedules at their ticks'),
        ("signal send_signal answer", "signal() and answer() of the job's handle, then drain()"),
    ),
}
_OWN = {"Tenure": "app", "JobHandle": "job", "Context": "ctx", "Log": "ctx.log", "BoundApp": "t"}
"""What the variable is called in examples."""


def unknown_option(call: str, name: str, words: Mapping[str, str], known: Collection[str]) -> TypeError:
    """The error for an option that does not exist, with the right word for it."""
    text = f"{call}() got an unexpected keyword argument {name!r}"
    if (word := words.get(name)) is not None:
        return TypeError(f"{text}; {_advice(word).format(call=call)}")
    if close := nearest(name, known):
        return TypeError(f"{text}; did you mean {close}=?")
    return TypeError(f"{text}; it takes {', '.join(sorted(known))}")


def keyword_params(call: str, names: Sequence[str], title: str | None) -> TypeError:
    """The error for params that were given one by one, to a definition whose params have such names."""
    given = f"{call}() got an unexpected keyword argument {names[0]!r}"
    return TypeError(f"{given}; params are one object: write {call}({_one_object(names, title)})")


def positional_params(call: str, count: int, names: Sequence[str], title: str | None) -> TypeError:
    """The error for params that were given as several arguments."""
    given = f"{call}() takes one object with all params, and was given {count} values"
    return TypeError(f"{given}: write {call}({_one_object(names, title)})")


def _one_object(names: Sequence[str], title: str | None) -> str:
    if not names:
        return ""
    if title is None:
        return "{" + ", ".join(f'"{name}": …' for name in names) + "}"
    return f"{title}({', '.join(f'{name}=…' for name in names)})"


def answering_other_words(kind: C) -> C:
    """Answer attributes that a class does not have with the right word. Type checkers see none of this."""
    words = _METHODS[kind.__name__]

    def missing(self: Any, name: str) -> Any:
        own = _OWN.get(kind.__name__) or vars(self).get("__name__", "job")
        text = f"{type(self).__name__} has no attribute {name!r}"
        if (word := words.get(name)) is not None:
            text = f"{text}; {_advice(word).format(own=own)}"
        elif not name.startswith("_") and (close := nearest(name, [*dir(type(self)), *vars(self)])):
            text = f"{text}; did you mean {close}?"
        raise AttributeError(text, name=name, obj=self)

    setattr(kind, "__getattr__", missing)  # noqa: B010
    return kind


def needing_a_key(method: F) -> F:
    """Answer a decorator that was given no key with how it is written."""

    @wraps(method)
    def called(self: Any, *given: Any, **terms: Any) -> Any:
        key = given[0] if given else terms.get("key")
        if isinstance(key, str):
            return method(self, *given, **terms)
        if key is None and isinstance(terms.get("name"), str):
            raise TypeError(f"job() has no name=: the key comes first, as in @app.job({terms['name']!r})")
        got = "no key" if key is None else f"{getattr(key, '__name__', key)!r:.64} for a key"
        raise TypeError(f'job() got {got}: every job has one, as in @app.job("email.welcome")')

    return called  # type: ignore[return-value]


def taking_a_database(method: F) -> F:
    """Answer options of other systems' apps, such as a broker, with what an app is given here."""

    @wraps(method)
    def called(self: Any, *given: Any, **options: Any) -> None:
        known = {"database", *(method.__kwdefaults__ or ())}
        if unknown := next((name for name in options if name not in known), None):
            raise unknown_option("Tenure", unknown, _APP_OPTIONS, known)
        method(self, *given, **options)

    return called  # type: ignore[return-value]


def taking_nothing(method: F) -> F:
    """Answer arguments of `get`, which reads a record, with the method that waits."""

    @wraps(method)
    def called(self: Any, *given: object, **options: object) -> Any:
        if given or options:
            raise TypeError(
                "get() takes no arguments, since it reads the record at once; wait(timeout=30) waits for the"
                " result, and wait_sync(timeout=30) in plain code"
            )
        return method(self)

    return called  # type: ignore[return-value]


def taking_one_text(method: F) -> F:
    """Answer values after the text of a log line, as `logging` takes them, with how to write them."""

    @wraps(method)
    def called(self: Any, text: str, /, *values: object, **fields: object) -> None:
        if values:
            call = f"ctx.log.{method.__name__}"
            raise TypeError(
                f"{call}() takes one text, and was given {len(values)} more; name them as fields, as in "
                f'{call}("sending", to=address), or write them into the text: f"… {{address}}"'
            )
        method(self, text, **fields)

    return called  # type: ignore[return-value]


def _advice(word: str) -> str:
    return word if word.startswith(("there ", "not ", "no ")) else f"use {word}"


def nearest(name: str, known: Collection[str]) -> str:
    """The known name that is most like a wrong one; empty where none is."""
    import difflib

    return next(iter(difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.6)), "")
