"""Params of every kind of type are checked before anything is kept, and reach the handler as that type."""

import json
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import msgspec
import pydantic
import pytest

from tenure import Fatal, InvalidInput, InvalidJson, InvalidParams, Tenure
from tenure.core.values.documents import write
from tenure.settings.settings import Settings
from tenure.surfaces.library.definition import JobDefinition
from tests.surfaces.library.param_types import AT, KINDS, NAIVE, Model, ModelPlan

if TYPE_CHECKING:
    from fractions import Fraction

T = TypeVar("T")
every_kind = pytest.mark.parametrize(("kind", "part"), KINDS.values(), ids=KINDS)


def define(kind: Any) -> JobDefinition[Any, None]:
    """A definition of an app whose database is never opened."""

    def mail(params: kind) -> None: ...

    return Tenure("sqlite:///never.db", settings=Settings()).job("mail")(mail)


def decoded(job: JobDefinition[Any, None], text: str) -> Any:
    """What the handler is given."""
    return job._registry.handler("mail", 1).decode(text)


def sent(job: JobDefinition[Any, None], params: object) -> Any:
    """What the handler is given for params that a caller enqueues."""
    document = job.new_job(params).params
    job._registry.check_params(job.spec, document)
    return decoded(job, document)


def refused(job: JobDefinition[Any, None], params: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        sent(job, params)
    return str(caught.value)


@every_kind
def test_params_reach_the_handler_as_they_were(kind: Any, part: Any) -> None:
    job = define(kind)
    params = kind(to="ada", plan=part(at=AT))
    assert sent(job, params) == params
    assert type(sent(job, {"to": "ada"})) is (dict if kind is KINDS["typeddict"][0] else kind)


@every_kind
def test_wrong_params_are_told_alike(kind: Any, part: Any) -> None:
    job = define(kind)
    assert refused(job, {"too": "ada"}) == "mail@1: params/too: is not known; params/to: is missing"
    assert refused(job, {"to": 5}) == 'mail@1: params/to: is not of type "string"'
    assert refused(job, {"to": "ada", "plan": {}}) == "mail@1: params/plan/at: is missing"
    assert refused(job, {"to": "ada", "plan": {"at": AT, "by": 1}}) == "mail@1: params/plan/by: is not known"
    assert "params/many/1" in refused(job, {"to": "ada", "many": [1, "x"]})


@every_kind
def test_a_datetime_without_a_time_zone_is_refused(kind: Any, part: Any) -> None:
    """Whether it is given as a value, or as JSON by a program that has not this code, or in SQL."""
    job = define(kind)
    zone = "give it a time zone, as datetime.now(timezone.utc) has one"
    said = refused(job, kind(to="ada", plan=part(at=NAIVE)))
    assert said == f"/plan/at: is a datetime without a time zone; {zone}"
    text = {"to": "ada", "plan": {"at": NAIVE.isoformat()}}
    assert "params/plan/at: is no date and time with a time zone" in refused(job, text)
    with pytest.raises(Fatal, match="params/plan/at: has no time zone"):
        decoded(job, json.dumps(text))


@pytest.mark.parametrize("value", [{"at": NAIVE}, [{"at": [NAIVE]}], {"a": ModelPlan(at=NAIVE)}])
def test_no_document_holds_a_datetime_without_a_time_zone(value: Any) -> None:
    """Not in params that are a dict, nor in results and events."""
    with pytest.raises(InvalidJson, match="is a datetime without a time zone"):
        write(value)


def test_a_field_that_is_to_have_no_time_zone_is_refused_where_it_is_declared() -> None:
    class Local(msgspec.Struct):
        at: Annotated[datetime, msgspec.Meta(tz=False)]

    with pytest.raises(InvalidInput, match=r"without a time zone: declare it as a str"):
        define(Local)


def test_times_are_found_in_unions_of_tagged_types() -> None:
    class Early(msgspec.Struct, tag=True):
        at: datetime

    class Late(msgspec.Struct, tag=True):
        at: str

    class Either(msgspec.Struct):
        what: Early | Late | int | None = None
        pair: tuple[int, datetime] | None = None
        by: dict[str, list[datetime]] = {}

    job = define(Either)
    either = Either(Early(AT), (1, AT), {"a": [AT]})
    assert sent(job, either) == either
    assert sent(job, Either(Late("soon"))) == Either(Late("soon"))
    for wrong, place in (
        ({"what": {"type": "Early", "at": "soon"}}, "/what/at"),
        ({"pair": [1, "soon"]}, "/pair/1"),
        ({"by": {"a": ["soon"]}}, "/by/a/0"),
    ):
        assert f"params{place}: is no date and time with a time zone" in refused(job, wrong)


class Colour(Enum):
    RED = "red"


class Rich(pydantic.BaseModel):
    """What pydantic has beside JSON's own types, and names that differ."""

    sender: str = pydantic.Field(alias="from")
    price: Decimal = Decimal("1.5")
    raw: bytes = b"x"
    some: set[int] = {1}
    colour: Colour = Colour.RED
    lasts: timedelta = timedelta(hours=30)
    id: UUID = UUID(int=1)
    kind: Literal["a", "b"] = "a"
    ratio: float = 0.5
    big: int = 2**70

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        """Computed, so not to be read back."""
        return 1


def test_a_model_with_richer_types_comes_back_as_it_was() -> None:
    job = define(Rich)
    rich = Rich.model_validate({"from": "ada"})
    assert sent(job, rich) == rich
    assert '"from":"ada"' in job.new_job(rich).params
    assert "params/sender: is not known" in refused(job, {"sender": "ada"})
    assert refused(job, rich.model_copy(update={"ratio": float("nan")})).startswith("/ratio: is NaN")
    assert refused(job, rich.model_copy(update={"big": 10**400})).startswith(
        "/big: is NaN, infinite or beyond"
    )
    assert (
        refused(job, rich.model_copy(update={"sender": 5})) == 'mail@1: params/from: is not of type "string"'
    )


def test_a_secret_of_which_only_asterisks_would_be_kept_is_refused() -> None:
    class Login(pydantic.BaseModel):
        password: pydantic.SecretStr

    assert refused(define(Login), Login(password=pydantic.SecretStr("hunter2"))).startswith(
        "/password: has no form in JSON (a SecretStr, of which pydantic writes asterisks)"
    )


@pytest.mark.parametrize(
    ("extra", "is_taken"), [(None, False), ("forbid", False), ("ignore", True), ("allow", True)]
)
def test_unknown_names_are_taken_only_if_the_model_says_so(extra: Any, is_taken: bool) -> None:
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict() if extra is None else pydantic.ConfigDict(extra=extra)
        to: str

    job = define(Open)
    if is_taken:
        assert sent(job, {"to": "ada", "more": 1}).to == "ada"
    else:
        assert refused(job, {"to": "ada", "more": 1}) == "mail@1: params/more: is not known"


class Tree(pydantic.BaseModel):
    children: list["Tree"] = []


def test_a_model_that_holds_itself_is_taken_and_a_value_that_does_is_not() -> None:
    job = define(Tree)
    assert sent(job, Tree(children=[Tree()])) == Tree(children=[Tree()])
    assert "params/children/0/name: is not known" in refused(job, {"children": [{"name": 1}]})
    circle = Tree()
    circle.children.append(circle)
    assert "a value of type Tree: Circular reference" in refused(job, circle)


class Box(pydantic.BaseModel, Generic[T]):
    value: T


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"


class Pet(pydantic.BaseModel):
    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


def test_generic_models_and_unions_of_models_are_taken() -> None:
    assert sent(define(Box[int]), Box[int](value=3)) == Box[int](value=3)
    assert refused(define(Box[int]), Box[str](value="x")) == 'mail@1: params/value: is not of type "integer"'
    assert sent(define(Pet), Pet(pet=Cat(lives=9))) == Pet(pet=Cat(lives=9))
    assert refused(define(Pet), {"pet": {"kind": "cat"}}) == "mail@1: params/pet/lives: is missing"


def test_instances_of_other_classes_are_refused() -> None:
    class More(Model):
        more: int = 1

    class Slots:
        __slots__ = ("to",)

    assert refused(define(Model), More(to="ada")) == "mail@1: params/more: is not known"
    assert "params/value: is not known" in refused(define(Model), Box[int](value=1))
    assert "has no form in JSON (a value of type Slots)" in refused(define(Model), Slots())


def test_what_a_validator_refuses_is_told_before_anything_is_kept_and_is_fatal_afterwards() -> None:
    """A job that was accepted before the code changed must not be tried again and again."""

    class Strict(pydantic.BaseModel):
        to: str

        @pydantic.field_validator("to")
        @classmethod
        def has_a_domain(cls, to: str) -> str:
            """Refuse what is no address."""
            if "@" not in to:
                raise ValueError("has no domain")
            return to

    job = define(Strict)
    with pytest.raises(InvalidParams) as caught:
        sent(job, {"to": "ada"})
    assert caught.value.problems == (("/to", "has no domain"),)
    with pytest.raises(Fatal, match="the params of mail@1 cannot be read: params/to: has no domain"):
        decoded(job, '{"to":"ada"}')


class Unfinished(pydantic.BaseModel):
    share: "Fraction"


class UnfinishedData(msgspec.Struct):
    share: "Fraction"


@pytest.mark.parametrize("kind", [Unfinished, UnfinishedData])
def test_a_type_that_is_there_for_type_checkers_alone_is_named(kind: Any) -> None:
    with pytest.raises(InvalidInput, match="name 'Fraction' is not defined; import the type at run time"):
        define(kind)


def test_a_model_that_is_no_object_cannot_be_params() -> None:
    with pytest.raises(InvalidInput, match="is no JSON object"):
        define(pydantic.RootModel[list[int]])


def test_pydantic_is_loaded_by_programs_that_use_it_and_by_no_others() -> None:
    """Every handler's process is a copy of one that has loaded the app."""
    program = (
        "import sys, dataclasses, datetime; from tenure import Tenure; "
        "made = dataclasses.make_dataclass('Made', [('at', datetime.datetime)]); "
        "job = lambda params: None; job.__annotations__ = {'params': made, 'return': made}; "
        "Tenure().job('plain')(job).new_job(made(datetime.datetime.now(datetime.timezone.utc))); "
        "print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "tenure.surfaces.library.definition" in loaded
    unneeded = ("pydantic_types", "results", "records", "decorator")
    assert not {"pydantic", "pydantic_core", "attr"} & set(loaded)
    assert not {f"tenure.surfaces.library.{name}" for name in unneeded} & set(loaded)
