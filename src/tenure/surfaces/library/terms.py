"""The options of a definition, as `@app.job` takes them, and the spec made from them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypedDict

from msgspec import structs

from tenure.api.job_options import Duration, duration
from tenure.core.errors import InvalidInput
from tenure.core.model.lanes import COMMAND, PROCESS
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy, RetryPolicy, refuse_second_attempt
from tenure.core.model.spec import Spec, check_lane
from tenure.core.model.step_errors import ONLY_ON_POSTGRESQL, USE_ONCE
from tenure.core.values.other_words import TERMS, unknown_option
from tenure.execution.protocol.variables import NEVER
from tenure.settings.settings import Settings
from tenure.surfaces.library.options import backoff, exception_names, memory_size

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Exceptions = Iterable[type[BaseException] | str] | type[BaseException] | str


class DefinitionTerms(TypedDict, total=False):
    """The options of `@app.job` and `app.command`; each has a default. Times are seconds or timedelta."""

    version: int
    """Raise it when the params or their meaning change: a job runs under the version it was made with.
    Default: 1."""
    queue: str
    """The queue of its jobs. Default: "default"."""
    priority: int
    """From -32767 to 32767, higher first. Default: 0."""
    timeout: Duration
    """How long an attempt may take. Default: 3600, or `timeout_seconds` of the settings."""
    max_attempts: int
    """How often a job may be tried. Default: 3, or `max_attempts` of the settings."""
    retry: RetryPolicy
    """How long to wait before another attempt. Default: backoff(base=1, cap=300)."""
    retry_on: Exceptions
    """Exceptions, as classes or names, that allow another attempt; every other exception is then fatal.
    Default: every exception."""
    fatal_on: Exceptions
    """Exceptions, as classes or names, that allow no other attempt. Default: none."""
    grace: Duration
    """How long an attempt may take to stop when asked to, before it is killed.
    Default: 10, or `grace_seconds` of the settings."""
    on_lost: Literal["retry", "bury"]
    """What becomes of a job whose worker was lost: "retry" runs it again, "bury" never does.
    With "bury" it has one attempt, so an exception ends it too, and `max_attempts` above 1 is refused.
    Default: "retry"."""
    concurrency: int
    """How many of its jobs may run at once, on all machines together; 0 for no limit. Default: 0."""
    concurrency_key: str
    """A param, by name or JSON pointer: `concurrency` then counts for each of its values separately.
    Default: none."""
    limits: Mapping[str, int]
    """Further limits, as in {"smtp": 5}: definitions that use the same name share the limit.
    Default: none."""
    tags: Sequence[str]
    """Names by which its jobs can be found. Default: none."""
    memory: int | str | None
    """The memory that an attempt's process may use, in bytes or as a text such as "512M"; None for no limit.
    Default: half of the machine's or the container's, at least 2 GiB, or `child_memory_bytes` of the
    settings."""
    cpu: int
    """How many seconds of processor time an attempt's process may use. Default: no limit."""
    files: int | None
    """How many files its process may have open; None for no limit.
    Default: 1024, or `child_files` of the settings."""
    lane: Literal["process", "warm", "async", "thread", "spawn"]
    """Where its attempts run; "process" is a fresh process for each. Default: "process"."""
    environment: Sequence[str]
    """Variables of the worker's environment that its processes are given beside what every handler sees.
    Default: none more."""
    database: str
    """The variable of the worker's environment that has the address of a PostgreSQL database, for
    `ctx.transaction`: the one in which the jobs are, by a user of the handler's own. Default: none."""


def spec_of(key: str, terms: DefinitionTerms, settings: Settings) -> Spec:
    """The spec of a function's jobs, without the schema. Raises InvalidInput."""
    spec = _spec("job", key, terms, settings, terms.get("lane", PROCESS))
    if spec.lane == COMMAND:
        raise InvalidInput("lane", 'is "command", which is for programs', "use app.command(…)")
    check_lane(spec)
    return spec


def command_spec_of(key: str, terms: DefinitionTerms, settings: Settings) -> Spec:
    """The spec of a program's jobs, which have a lane of their own."""
    if "lane" in terms:
        raise InvalidInput("lane", f"is {terms['lane']!r:.64} for a program", "leave it out")
    if "database" in terms:
        remedy = "leave it out; environment= gives a program the variables that it needs"
        raise InvalidInput("database", "is for ctx.transaction, which programs do not have", remedy)
    return _spec("command", key, terms, settings, COMMAND)


def _spec(call: str, key: str, terms: DefinitionTerms, settings: Settings, lane: str) -> Spec:
    unknown = terms.keys() - DefinitionTerms.__annotations__.keys()
    if unknown:
        raise unknown_option(call, min(unknown), TERMS, DefinitionTerms.__annotations__)
    return Spec(
        key=key,
        version=terms.get("version", 1),
        queue=terms.get("queue", "default"),
        priority=terms.get("priority", 0),
        policy=_policy(terms, settings),
        lane=lane,
        concurrency=terms.get("concurrency", 0),
        concurrency_key=terms.get("concurrency_key"),
        limits=_limits(terms.get("limits")),
        tags=_texts("tags", terms.get("tags", ())),
        memory=memory_size(_lifted(terms, "memory")),
        cpu=terms.get("cpu"),
        files=_lifted(terms, "files"),
        environment=_texts("environment", terms.get("environment", ())),
        database=_variable(terms.get("database")),
    )


def _lifted(terms: DefinitionTerms, name: Literal["memory", "files"]) -> Any:
    """A limit as stored: None if it was left out, 0 (no limit) if it was given as None."""
    return 0 if name in terms and terms[name] is None else terms.get(name)


def _policy(terms: DefinitionTerms, settings: Settings) -> Policy:
    on_lost = _on_lost(terms.get("on_lost", "retry"))
    refuse_second_attempt(on_lost, terms.get("max_attempts"))
    return Policy(
        max_attempts=_or(terms.get("max_attempts"), settings.max_attempts),
        timeout=_time("timeout", terms.get("timeout"), settings.timeout_seconds),
        grace=_time("grace", terms.get("grace"), settings.grace_seconds),
        on_lost=on_lost,
        retry=structs.replace(
            _retry(terms.get("retry")),
            retry_on=exception_names("retry_on", terms.get("retry_on", ())),
            fatal_on=exception_names("fatal_on", terms.get("fatal_on", ())),
        ),
    )


def _limits(given: Any) -> tuple[Limit, ...]:
    if given is not None and not isinstance(given, Mapping):
        problem, remedy = f"is {given!r:.64}", 'give sizes by name, such as {"smtp": 3}, or use concurrency='
        raise InvalidInput("limits", problem, remedy)
    return tuple(Limit(name, size=size) for name, size in (given or {}).items())


def _retry(given: Any) -> RetryPolicy:
    if given is not None and not isinstance(given, RetryPolicy):
        remedy = "give backoff(base=1, cap=300); max_attempts= says how often a job may be tried"
        raise InvalidInput("retry", f"is {given!r:.64}", remedy)
    return given or backoff()


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _time(field: str, given: Duration | None, seconds: float) -> timedelta:
    return duration(field, seconds if given is None else given)


def _on_lost(word: str) -> OnLost:
    try:
        return OnLost(word)
    except ValueError:
        raise InvalidInput("on_lost", f"is {word!r:.64}", 'give "retry" or "bury"') from None


def refuse_transactions_on_a_file(spec: Spec, database: str | None) -> None:
    """Refuse a definition with transactions in an app that itself names a file as its database.

    Where only the settings say which database it is, the worker's may differ from those here: it looks.
    """
    if spec.database is not None and database is not None and database.lower().startswith("sqlite:"):
        raise InvalidInput("database", f"of {spec.key} {ONLY_ON_POSTGRESQL}", USE_ONCE)


def _variable(name: object) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = "cannot name a variable" if isinstance(name, str) and "://" not in name else "is no name"
        raise InvalidInput("database", problem, 'name the variable with the address: database="ORDERS_DB"')
    if name in NEVER:
        remedy = "give handlers a user of their own in that database, and its address in another variable"
        raise InvalidInput("database", f"is {name}, which no handler is given", remedy)
    return name


def _texts(field: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(text, str) for text in given):
        raise InvalidInput(field, f"are {given!r:.64}", "give a list of texts")
    return tuple(given)
