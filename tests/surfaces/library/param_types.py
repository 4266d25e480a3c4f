"""One shape of params in every kind of type that users have, with a datetime in a nested part."""

import dataclasses
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict

import attrs
import msgspec
import pydantic

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
NAIVE = AT.replace(tzinfo=None)


@dataclasses.dataclass
class DataPlan:
    at: datetime


@dataclasses.dataclass
class Data:
    to: str
    plan: DataPlan | None = None
    many: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    to: str
    plan: DataPlan | None = None
    many: tuple[int, ...] = ()


@attrs.define
class AttrsPlan:
    at: datetime


@attrs.define
class Attrs:
    to: str = attrs.field(validator=attrs.validators.min_len(1))
    plan: AttrsPlan | None = None
    many: list[int] = attrs.Factory(list)


class PackedPlan(msgspec.Struct):
    at: datetime


class Packed(msgspec.Struct):
    to: str
    plan: PackedPlan | None = None
    many: list[int] = []


class TypedPlan(TypedDict):
    at: datetime


class Typed(TypedDict):
    to: str
    plan: NotRequired[TypedPlan | None]
    many: NotRequired[list[int]]


class ModelPlan(pydantic.BaseModel):
    at: datetime


class Model(pydantic.BaseModel):
    to: str = pydantic.Field(min_length=1)
    plan: ModelPlan | None = None
    many: list[int] = []


@pydantic.dataclasses.dataclass
class ModelData:
    to: str
    plan: ModelPlan | None = None
    many: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Mixed:
    """A plain dataclass with models in it."""

    to: str
    plan: ModelPlan | None = None
    many: list[int] = dataclasses.field(default_factory=list)


KINDS: dict[str, tuple[Any, Any]] = {
    "dataclass": (Data, DataPlan),
    "slots": (Slotted, DataPlan),
    "attrs": (Attrs, AttrsPlan),
    "struct": (Packed, PackedPlan),
    "typeddict": (Typed, TypedPlan),
    "pydantic": (Model, ModelPlan),
    "pydantic dataclass": (ModelData, ModelPlan),
    "mixed": (Mixed, ModelPlan),
}
"""By name: the type of the params, and that of the nested part."""
