"""What a definition may say of its jobs, in the forms in which it is written, and the spec it makes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypedDict

from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.limit import Limit
from tenure.core.policy import OnLost, Policy, RetryPolicy
from tenure.core.spec import Spec, check_lane
from tenure.settings import Settings
from tenure.surfaces.library.options import Duration, backoff, duration, exception_names, memory_size

Exceptions = Iterable[type[BaseException] | str]


class Terms(TypedDict, total=False):
    """What `@app.job` and `app.command` take beside the key; what is left out has a default."""

    version: int
    """Counts up when params or meaning change; jobs run under the version they were made with. 1."""
    queue: str
    """Where its jobs stand in line: "default"."""
    priority: int
    """From -32767 to 32767, higher first: 0."""
    timeout: Duration
    """How long an attempt may take: an hour, or as the settings say."""
    max_attempts: int
    """How often a job may be tried: 3, or as the settings say."""
    retry: RetryPolicy
    """How long to wait before another attempt: `backoff(base=1, cap=300)`."""
    retry_on: Exceptions
    """Exceptions, or their names, that are worth another attempt; all others are then fatal."""
    fatal_on: Exceptions
    """Exceptions, or their names, that are not."""
    grace: Duration
    """How long a job that is asked to stop may take to do so: 10 seconds, or as the settings say."""
    on_lost: Literal["retry", "bury"]
    """What becomes of a job whose worker was lost: run again, or never again."""
    concurrency: int
    """How many of its jobs may run at once on all machines: 0, which is any number."""
    concurrency_key: str
    """A param, by name or JSON pointer: the concurrency then counts for each of its values apart."""
    limits: Mapping[str, int]
    """More limits, by a name that other definitions may share."""
    tags: Sequence[str]
    """Names by which its jobs are found again."""
    memory: int | str | None
    """What an attempt's process may take, in bytes or as a text such as "512M"; None for as much as there is.

    Half of the machine's or the container's, at least 2 GiB, or as the settings say.
    """
    cpu: int
    """How many seconds of processor time an attempt's process may take."""
    files: int | None
    """How many files its process may have open: 1,024, or as the settings say; None for any number."""
    lane: Literal["process", "warm", "async", "thread", "spawn"]
    """Where its attempts run: "process", a fresh process for each."""
    environment: Sequence[str]
    """Variables of the worker's environment that its processes are given."""


def spec_of(key: str, terms: Terms, settings: Settings) -> Spec:
    """The spec of a function's jobs, without the schema. Raises InvalidInput."""
    spec = _spec("job", key, terms, settings, terms.get("lane", "process"))
    if spec.lane == "command":
        raise InvalidInput("lane", 'is "command", which is for programs', "use app.command(…)")
    check_lane(spec)
    return spec


def command_spec_of(key: str, terms: Terms, settings: Settings) -> Spec:
    """The same of a program's jobs, whose lane is their own."""
    if "lane" in terms:
        raise InvalidInput("lane", f"is {terms['lane']!r:.64} for a program", "leave it out")
    return _spec("command", key, terms, settings, "command")


def _spec(call: str, key: str, terms: Terms, settings: Settings, lane: str) -> Spec:
    unknown = terms.keys() - Terms.__annotations__.keys()
    if unknown:
        raise TypeError(f"{call}() got an unexpected keyword argument {min(unknown)!r}")
    return Spec(
        key=key,
        version=terms.get("version", 1),
        queue=terms.get("queue", "default"),
        priority=terms.get("priority", 0),
        policy=_policy(terms, settings),
        lane=lane,
        concurrency=terms.get("concurrency", 0),
        concurrency_key=terms.get("concurrency_key"),
        limits=tuple(Limit(name, size=size) for name, size in (terms.get("limits") or {}).items()),
        tags=_texts("tags", terms.get("tags", ())),
        memory=memory_size(_lifted(terms, "memory")),
        cpu=terms.get("cpu"),
        files=_lifted(terms, "files"),
        environment=_texts("environment", terms.get("environment", ())),
    )


def _lifted(terms: Terms, name: Literal["memory", "files"]) -> Any:
    """What is said of a limit: nothing is None, and None is 0, which is any amount."""
    return 0 if name in terms and terms[name] is None else terms.get(name)


def _policy(terms: Terms, settings: Settings) -> Policy:
    return Policy(
        max_attempts=_or(terms.get("max_attempts"), settings.max_attempts),
        timeout=_time("timeout", terms.get("timeout"), settings.timeout_seconds),
        grace=_time("grace", terms.get("grace"), settings.grace_seconds),
        on_lost=_on_lost(terms.get("on_lost", "retry")),
        retry=structs.replace(
            terms.get("retry") or backoff(),
            retry_on=exception_names("retry_on", terms.get("retry_on", ())),
            fatal_on=exception_names("fatal_on", terms.get("fatal_on", ())),
        ),
    )


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _time(field: str, given: Duration | None, seconds: float) -> timedelta:
    return duration(field, seconds if given is None else given)


def _on_lost(word: str) -> OnLost:
    try:
        return OnLost(word)
    except ValueError:
        raise InvalidInput("on_lost", f"is {word!r:.64}", 'give "retry" or "bury"') from None


def _texts(field: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(text, str) for text in given):
        raise InvalidInput(field, f"are {given!r:.64}", "give a list of texts")
    return tuple(given)
