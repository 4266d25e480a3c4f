"""A form as templates show it: each field with its text, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from tenure.core.errors import InvalidInput
from tenure.surfaces.dashboard.forms.posted import name_of
from tenure.surfaces.dashboard.forms.schema_fields import FieldGroup, FieldKind, FormField, Part
from tenure.surfaces.http.app.forms import Form


class ShownField(Struct, frozen=True, kw_only=True):
    """A field on a page. `choices` are pairs of a value and what people read."""

    name: str
    label: str
    hint: str = ""
    value: str = ""
    problem: str = ""
    about: str = ""
    choices: Sequence[tuple[str, str]] = ()
    placeholder: str = ""
    type: str = "text"
    mode: str = ""
    is_required: bool = False
    is_long: bool = False
    """Whether it has several lines."""

    within: str = ""
    """The form, where a page has several whose fields have the same names."""

    @property
    def id(self) -> str:
        """What names it on its page."""
        return f"{self.name}-{self.within}" if self.within else self.name


class ShownGroup(Struct, frozen=True, kw_only=True):
    """Fields that belong together."""

    label: str
    hint: str
    parts: "Sequence[ShownField | ShownGroup]"


class Sent(Struct, frozen=True):
    """A form that came back: the texts that were sent, and what is wrong by the names of fields."""

    values: Mapping[str, str] = {}
    problems: Mapping[str, str] = {}

    def field(self, name: str, label: str, **rest: Any) -> ShownField:
        """A field with what was sent in it, or else with what stands there."""
        known = {**rest, "value": self.values[name]} if name in self.values else rest
        if self.values and name not in self.values:
            known = {**known, "value": ""}
        return ShownField(name=name, label=label, problem=self.problems.get(name, ""), **known)


class ReturnedForm(Struct, frozen=True):
    """The one of several small forms on a page that came back, if any did."""

    form: str = ""
    sent: Sent = Sent()

    def of(self, form: str) -> Sent:
        """What came back of a form."""
        return self.sent if form == self.form else Sent()

    @classmethod
    def refused(cls, form: str, body: Form, error: InvalidInput) -> "ReturnedForm":
        """A form with a field that is refused. Raises the error again if it is about none of its fields."""
        values = {name: str(value) for name, value in structs.asdict(body).items() if value not in {None, ""}}
        if error.field not in body.__struct_fields__:
            raise error
        return cls(form, Sent(values, {error.field: told(error)}))


def shown(parts: Sequence[Part], sent: Sent) -> list[ShownField | ShownGroup]:
    """The fields of a schema on a page."""
    return [_group(part, sent) if isinstance(part, FieldGroup) else _field(part, sent) for part in parts]


def told(error: InvalidInput) -> str:
    """What is wrong with a field, and what to write instead."""
    return f"{error.problem}; {error.remedy}" if error.remedy else error.problem


def _group(part: FieldGroup, sent: Sent) -> ShownGroup:
    return ShownGroup(label=part.label, hint=part.hint, parts=shown(part.parts, sent))


def _field(part: FormField, sent: Sent) -> ShownField:
    return sent.field(
        name_of(part),
        part.label,
        hint=part.hint,
        about=part.about,
        choices=[("", "" if part.is_required else "left out"), *part.choices] if part.choices else (),
        type="datetime-local" if part.kind is FieldKind.MOMENT else "text",
        mode={FieldKind.WHOLE: "numeric", FieldKind.DECIMAL: "decimal"}.get(part.kind, ""),
        is_long=part.kind is FieldKind.JSON,
        is_required=part.is_required and not part.is_nullable,
    )
