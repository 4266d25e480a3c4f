"""The decorator: what it takes, what it makes of a function, and what it refuses."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import msgspec
import pytest

from tenure import Context, InvalidInput, Tenure, backoff
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy
from tenure.settings.settings import Settings

if TYPE_CHECKING:
    from decimal import Decimal


class Typed(TypedDict):
    to: str
    subject: NotRequired[str]


@dataclass
class Inner:
    name: str


@dataclass
class Data:
    to: str
    subject: str = "Welcome"
    inner: Inner | None = None
    many: list[int] = field(default_factory=list)


class Packed(msgspec.Struct):
    to: str
    limit: int = 1


class Tree(msgspec.Struct):
    children: list["Tree"] = []


@pytest.fixture
def app() -> Tenure:
    """An app whose database is never opened."""
    return Tenure("sqlite:///never.db", settings=Settings())


def schema_of(app: Tenure) -> Any:
    return json.loads(app.specs()[0].params_schema)


@pytest.mark.parametrize("kind", [Data, Packed, Typed])
def test_params_of_a_type_become_a_schema(app: Tenure, kind: Any) -> None:
    """S1.2, S1.24: a function is made a definition, with a key, and its params are known."""

    @app.job("mail")
    def mail(params: kind) -> None: ...

    schema = schema_of(app)
    assert schema["type"] == "object"
    assert schema["required"] == ["to"]
    assert schema["properties"]["to"] == {"type": "string"}
    assert schema["additionalProperties"] is False


def test_nested_types_take_no_unknown_names_either(app: Tenure) -> None:
    @app.job("mail")
    def mail(params: Data) -> None: ...

    assert schema_of(app)["$defs"]["Inner"]["additionalProperties"] is False


def test_a_type_that_holds_itself_has_a_schema(app: Tenure) -> None:
    @app.job("mail")
    def mail(params: Tree) -> None: ...

    decode = app.handler("mail", 1).decode
    assert decode('{"children":[{"children":[]}]}') == Tree([Tree()])
    assert schema_of(app)["$defs"]["Tree"]["additionalProperties"] is False


@pytest.mark.parametrize("kind", [dict, dict[str, Any], Any])
def test_a_dict_is_any_object(app: Tenure, kind: Any) -> None:
    @app.job("mail")
    def mail(params: kind) -> None: ...

    assert schema_of(app)["type"] == "object"
    assert app.handler("mail", 1).decode('{"a":[1]}') == {"a": [1]}


@pytest.mark.parametrize("kind", [int, str, list[int], Data | None, object, None])
def test_params_that_are_no_object_are_refused(app: Tenure, kind: Any) -> None:
    def mail(params: kind) -> None: ...

    with pytest.raises(InvalidInput, match=r"mail: params: .* use a dataclass"):
        app.job("mail")(mail)


async def params_alone(params: Data) -> Any:
    return params


async def both(params: Data, ctx: Context) -> Any:
    return params, ctx


async def by_name(stuff, context) -> Any:  # type: ignore[no-untyped-def]
    return stuff, context


async def context_alone(anything: Context) -> Any:
    return anything


async def neither() -> Any:
    return "nothing"


async def context_in_name_only(ctx: Data) -> Any:
    return ctx


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (params_alone, "p"),
        (both, ("p", "c")),
        (by_name, ("p", "c")),
        (context_alone, "c"),
        (neither, "nothing"),
        (context_in_name_only, "p"),
    ],
)
async def test_a_handler_takes_what_it_asks_for(app: Tenure, function: Any, answer: Any) -> None:
    """S1.25, S1.63: `run(params, context)`, and options that may be left out."""
    app.job("mail")(function)
    assert await app.handler("mail", 1).run("p", "c") == answer


def test_a_plain_function_is_a_handler_too(app: Tenure) -> None:
    @app.job("mail")
    def mail(params: Data) -> str:
        return params.to

    assert app.handler("mail", 1).run(Data("a"), None) == "a"


def test_a_handler_without_params_is_given_none(app: Tenure) -> None:
    app.job("mail")(neither)
    assert schema_of(app)["additionalProperties"] is False
    assert app.handler("mail", 1).decode("{}") is None


def test_a_handler_that_sees_the_context_alone_may_have_any_params(app: Tenure) -> None:
    app.job("mail")(context_alone)
    assert schema_of(app) == {"type": "object"}
    assert app.handler("mail", 1).decode('{"a":1}') == {"a": 1}


def three(params: Data, ctx: Context, more: int) -> None: ...
def turned(ctx: Context, params: Data) -> None: ...
def two_contexts(ctx: Context, context: Context) -> None: ...
def starred(*params: Any) -> None: ...
def keyword(*, params: Data) -> None: ...
def generator(params: Data) -> Iterator[int]:
    yield 1


async def async_generator(params: Data) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "function",
    [three, turned, two_contexts, starred, keyword, generator, async_generator, print, Data, 7],
)
def test_what_cannot_be_a_handler_is_refused_where_it_is_written(app: Tenure, function: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        app.job("mail")(function)
    assert caught.value.remedy
    assert app.specs() == []


def test_an_annotation_that_is_not_there_at_run_time_is_named(app: Tenure) -> None:
    def mail(params: "Decimal") -> None: ...

    with pytest.raises(InvalidInput, match="'Decimal' is not defined"):
        app.job("mail")(mail)


def test_what_is_returned_may_be_named_for_the_type_checker_alone(app: Tenure) -> None:
    def mail(params: Data) -> "Decimal": ...  # type: ignore[empty-body]

    app.job("mail")(mail)
    assert app.handler("mail", 1).run is not None


def test_the_decorated_function_can_be_called_as_it_is(app: Tenure) -> None:
    @app.job("mail")
    def mail(params: Data) -> str:
        """Send a mail."""
        return params.to

    assert (mail(Data("a")), mail.function(Data("b"))) == ("a", "b")
    assert mail.__wrapped__ is mail.function
    assert mail.__doc__ == "Send a mail."
    assert repr(mail) == "<job mail@1>"


def test_everything_a_definition_may_say_is_said(app: Tenure) -> None:
    """S1.63: version, timeout, attempts and concurrency are options of the definition."""

    @app.job(
        "mail",
        version=2,
        queue="post",
        priority=3,
        timeout=60,
        max_attempts=5,
        retry=backoff(base=2, cap=timedelta(minutes=1)),
        retry_on=(OSError, "httpx.HTTPError"),
        fatal_on=[KeyError],
        grace=timedelta(seconds=3),
        concurrency=4,
        concurrency_key="to",
        limits={"smtp": 2},
        tags=["slow"],
        memory="512M",
        cpu=10,
        files=64,
        environment=["SMTP_HOST"],
    )
    def mail(params: Data) -> None: ...

    spec = mail.spec
    assert (spec.key, spec.version, spec.queue, spec.priority) == ("mail", 2, "post", 3)
    assert (spec.policy.timeout, spec.policy.max_attempts) == (timedelta(seconds=60), 5)
    assert spec.policy.grace == timedelta(seconds=3)
    retry = spec.policy.retry
    assert (retry.base, retry.cap) == (timedelta(seconds=2), timedelta(minutes=1))
    assert (retry.retry_on, retry.fatal_on) == (("OSError", "httpx.HTTPError"), ("KeyError",))
    assert spec.all_limits == (Limit("mail", "", 4), Limit("smtp", "", 2))
    assert spec.concurrency_key == "to"
    assert (spec.tags, spec.environment) == (("slow",), ("SMTP_HOST",))
    assert (spec.memory, spec.cpu, spec.files) == (512 * 2**20, 10, 64)


def test_what_is_not_said_is_as_the_settings_say() -> None:
    app = Tenure("sqlite:///never.db", settings=Settings(timeout_seconds=7, max_attempts=9, grace_seconds=2))
    app.job("mail")(neither)
    assert app.specs()[0].policy == Policy(
        timeout=timedelta(seconds=7), max_attempts=9, grace=timedelta(seconds=2)
    )


def test_without_settings_the_defaults_are_those_of_the_promise(app: Tenure) -> None:
    app.job("mail")(neither)
    assert app.specs()[0].policy == Policy()


def test_what_must_not_run_twice_has_one_attempt(app: Tenure) -> None:
    app.job("pay", on_lost="bury")(neither)
    app.job("bill", on_lost="bury", max_attempts=1)(neither)
    assert {(spec.policy.on_lost, spec.policy.max_attempts) for spec in app.specs()} == {(OnLost.BURY, 1)}
    with pytest.raises(InvalidInput, match=r'max_attempts: is 4, .* leave it out, or let on_lost be "retry"'):
        app.job("pay.twice", on_lost="bury", max_attempts=4)(neither)


@pytest.mark.parametrize(
    "terms",
    [
        {"timeout": "60"},
        {"timeout": True},
        {"timeout": float("nan")},
        {"timeout": 0},
        {"grace": -1},
        {"max_attempts": 0},
        {"on_lost": "drop"},
        {"memory": "half"},
        {"memory": 1},
        {"retry_on": [7]},
        {"fatal_on": [Data]},
        {"tags": "slow"},
        {"environment": "HOME"},
        {"limits": {"smtp": 0}},
        {"concurrency_key": "to"},
        {"version": 0},
    ],
)
def test_what_makes_no_sense_is_refused(app: Tenure, terms: Any) -> None:
    with pytest.raises(InvalidInput):
        app.job("mail", **terms)


def test_a_concurrency_key_that_no_param_has_is_refused(app: Tenure) -> None:
    """It would silently count all jobs together."""
    with pytest.raises(InvalidInput, match="concurrency_key: 'too' is no param of mail@1; give one of to, "):
        app.job("mail", concurrency=1, concurrency_key="too")(params_alone)
    with pytest.raises(InvalidInput, match="'to' is no param of mail@1; leave it out"):
        app.job("mail", concurrency=1, concurrency_key="to")(neither)
    app.job("mail", concurrency=1, concurrency_key="to")(params_alone)


def test_a_misspelt_term_is_refused(app: Tenure) -> None:
    with pytest.raises(TypeError, match=r"'timeuot'; did you mean timeout=\?"):
        app.job("mail", timeuot=1)  # type: ignore[call-arg]


def test_one_key_registered_twice_names_both_functions(app: Tenure) -> None:
    app.job("mail")(params_alone)
    with pytest.raises(InvalidInput, match=r"mail@1 .*params_alone and by .*neither"):
        app.job("mail")(neither)


def test_reserved_keys_are_refused(app: Tenure) -> None:
    with pytest.raises(InvalidInput, match="reserved"):
        app.job("system.cancel")(neither)


def test_hooks_belong_to_their_definition(app: Tenure) -> None:
    """S1.26: a definition may have one for each moment of a job's life."""
    mail = app.job("mail")(neither)

    @mail.on_start
    def started(ctx: Context) -> None: ...

    @mail.on_retry
    async def retried(ctx: Context, error: Any) -> None: ...

    @mail.on_success
    def succeeded(ctx: Context) -> None: ...

    @mail.on_fail
    async def failed(ctx: Context, error: Any) -> None: ...

    @mail.on_end
    def ended(ctx: Context) -> None: ...

    assert app.handler("mail", 1).hooks == {
        "on_start": started,
        "on_retry": retried,
        "on_success": succeeded,
        "on_fail": failed,
        "on_end": ended,
    }
    assert mail.spec.hooks == ("on_start", "on_retry", "on_success", "on_fail", "on_end")


@pytest.mark.parametrize("function", [neither, three, starred, 7])
def test_what_cannot_be_a_hook_is_refused(app: Tenure, function: Any) -> None:
    mail = app.job("mail")(neither)
    with pytest.raises(InvalidInput):
        mail.on_end(function)
    assert mail.spec.hooks == ()


@pytest.mark.parametrize("spelling", ["50", "50.0", "5e1"])
def test_a_whole_number_is_one_however_it_is_spelled(app: Tenure, spelling: str) -> None:
    """To JSON Schema these are integers; a job that was let in must not fail in its attempt for it."""

    @app.job("mail")
    def mail(params: Packed) -> None: ...

    assert app.handler("mail", 1).decode(f'{{"to":"1.5","limit":{spelling}}}') == Packed("1.5", 50)
