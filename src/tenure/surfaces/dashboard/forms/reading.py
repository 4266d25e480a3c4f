"""Reads the fields of a form one by one, and keeps what is wrong with each for the form to show."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from tenure.api import inputs
from tenure.core.errors import InvalidInput, InvalidJson, InvalidParams
from tenure.core.values.documents import check
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.dashboard.forms.shown import Sent, told
from tenure.surfaces.http.app.problems import Refusal

T = TypeVar("T")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_BOUND = re.compile(r"(length )?(>=|<=) ([0-9.-]+)")
_NAMES = re.compile(r"[,\s]+")


class FieldReading:
    """The texts of one form. A blank field is absent; what is wrong stands in `problems` by its name."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields
        self.problems: dict[str, str] = {}

    @property
    def sent(self) -> Sent:
        """The form as it goes back."""
        return Sent({name: ", ".join(texts) for name, texts in self._fields.items()}, self.problems)

    def text(self, name: str) -> str | None:
        """A text."""
        value = self._fields.get(name, [""])[0].strip()
        return value or None

    def is_set(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.text(name) is not None

    def chosen(self, name: str) -> tuple[str, ...]:
        """The boxes of a group that are ticked."""
        return tuple(self._fields.get(name, ()))

    def names(self, name: str) -> tuple[str, ...]:
        """Several names, with commas or spaces between them."""
        return tuple(one for one in _NAMES.split(self.text(name) or "") if one)

    def whole(self, name: str) -> int | None:
        """A whole number."""
        return self._read(name, _whole)

    def seconds(self, name: str) -> float | None:
        """A duration, in seconds."""
        return self._read(name, lambda text: inputs.duration(text).total_seconds())

    def moment(self, name: str) -> datetime | None:
        """A time, in UTC."""
        return self._read(name, lambda text: browser_time(name, text))

    def json(self, name: str) -> Raw | None:
        """A document."""
        return self._read(name, lambda text: Raw(check(text).encode()))

    def require(self, name: str, remedy: str) -> None:
        """Note that a field is missing, if it is."""
        if self.text(name) is None:
            self.problems.setdefault(name, f"is missing; {remedy}")

    def refused(self, error: InvalidInput | Refusal, places: Mapping[str, str]) -> None:
        """Note what the engine refuses beside the field that it means, or above them all.

        `places` maps the engine's names of fields to those of the form.
        """
        match error:
            case InvalidParams():
                self.problems["params"] = "; ".join(
                    f"{pointer.removeprefix('/')} {text}".strip() for pointer, text in error.problems
                )
            case InvalidInput():
                name = places.get(error.field, error.field)
                place = name if name in places.values() or name in self._fields else ""
                self.problems[place] = told(error) if place else f"{error.field} {told(error)}"
            case Refusal():
                self.problems[""] = error.detail

    def misfit(self, error: msgspec.ValidationError, places: Mapping[str, str]) -> None:
        """Note a value that its type does not allow."""
        found = re.search(r"^(.*) - at `\$\.?([A-Za-z]+)", str(error), re.DOTALL)
        place = places.get(found[2], "") if found else ""
        self.problems[place] = _plain(found[1] if found else str(error))

    def _read(self, name: str, read: Callable[[str], T]) -> T | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return read(text)
        except InvalidJson as error:
            self.problems[name] = f'{error.problem}; write one JSON value, such as {{"to": "ada"}}'
        except InvalidInput as error:
            self.problems[name] = told(error)
        return None


def _plain(text: str) -> str:
    """What a type says of a value, in words for people."""
    if "regex" in text:
        return "has characters that no name has; write letters, digits, and . _ : - between them"
    if found := _BOUND.search(text):
        bound = found[3].removesuffix(".0")
        if found[1]:
            return f"is too long; write at most {bound}"
        if found[2] == ">=":
            return f"is too small; write {bound} or more"
        return f"is too large; write {bound} or less"
    return text.replace("`", "").lower()


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise InvalidInput("number", f"is {text!r:.64}", "write a whole number, such as 5")
    return int(text)


def indented(document: Any) -> str:
    """A document as it stands in a field of several lines."""
    return json.dumps(json.loads(document), indent=2, ensure_ascii=False)
