"""The query parameters that routes take."""

import re
from collections.abc import Callable
from typing import Any

from msgspec import json, structs

from tenure.api import inputs
from tenure.api.dialects.dialect import Dialect
from tenure.api.dialects.known import DIALECTS
from tenure.api.durable_shapes import KeptName, StepName
from tenure.api.lease_shapes import Token
from tenure.api.shapes import CURSOR as CURSOR_SCHEMA
from tenure.api.shapes import MOMENT
from tenure.core.errors import InvalidInput
from tenure.core.model.durable import step_named
from tenure.core.model.states import State
from tenure.core.reports.reading import EVENT_TYPES, Interest
from tenure.core.values import fingerprint
from tenure.core.values.bounds import LARGEST_PAGE, named
from tenure.core.webhooks.delivery import DeliveryState
from tenure.surfaces.http.app.routes import Header, Parameter

MOST_TICKS = 100
"""How many ticks to come one request may ask for."""

LONGEST_WAIT = 30
"""Seconds for which one request may wait for a job, or for its end."""

_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$"}
_CUSTOM_TYPE = {"pattern": "^custom:[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$"}
_MOMENT = {"type": "string", **MOMENT}
_TOKEN = json.schema(Token)

IN_PATH: dict[str, dict[str, Any]] = {
    "jobId": {"type": "string", "format": "uuid"},
    "key": {**_NAME, "not": {"pattern": "^system\\."}},
    "version": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
    "queue": _NAME,
    "name": _NAME,
    "workerId": {"type": "string", "minLength": 1},
    "webhookId": {"type": "string", "format": "uuid"},
    "message": {"type": "string", "minLength": 1, "maxLength": 255},
    "signal": json.schema(StepName),
    **dict.fromkeys(("step", "effect"), json.schema(KeptName)),
}
"""What the variable parts of paths may be."""

PATH_TEXTS = {
    "key": "the key of a definition, such as `email.welcome`",
    "version": "a version of it",
    "name": "the name that it was given",
    "workerId": "the id of the worker, as the list of workers has it",
    "message": "the id of the delivery, which the receiver gets as `webhook-id`",
    "signal": "the name that the job waits for; without `/`, `#` and `?`",
    "step": "the name of the step; its second use in one attempt is `name#2`",
    "effect": "the step of the effect, as `effectsInDoubt` of the job has it",
}
"""What they mean, where their names do not say it."""


def _page_size(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= LARGEST_PAGE:
        raise InvalidInput("limit", f"is {text!r:.64}", f"give a whole number from 1 to {LARGEST_PAGE}")
    return int(text)


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_TICKS:
        raise InvalidInput("count", f"is {text!r:.64}", f"give a whole number from 1 to {MOST_TICKS}")
    return int(text)


def _wait(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= LONGEST_WAIT:
        raise InvalidInput("seconds", f"is {text!r:.64}", f"give seconds from 0 to {LONGEST_WAIT}")
    return float(text)


def _event_type(text: str) -> str:
    Interest(types=frozenset({text}))
    return text


def _name(text: str) -> str:
    named("name", text)
    return text


def _signal(text: str) -> str:
    step_named("name", text)
    return text


def _token(text: str) -> str:
    if not re.fullmatch(_TOKEN["pattern"].strip("^$"), text):
        raise InvalidInput("token", f"is {text!r:.64}", "give the token of the lease as it was received")
    return text


def _fingerprint(text: str) -> str:
    fingerprint.check("fingerprint", text)
    return text


def _one_of(*words: str) -> tuple[Callable[[str], str], dict[str, Any]]:
    def read(text: str) -> str:
        if text not in words:
            raise InvalidInput("word", f"is {text!r:.64}", f"give one of {', '.join(words)}")
        return text

    return read, {"type": "string", "enum": list(words)}


def _state(text: str) -> State:
    read, _ = _one_of(*State)
    return State(read(text))


def _delivery_state(text: str) -> DeliveryState:
    read, _ = _one_of(*DeliveryState)
    return DeliveryState(read(text))


def _dialect(text: str) -> Dialect:
    read, _ = _one_of(*DIALECTS)
    return DIALECTS[read(text)]


_read_sort, _sort_schema = _one_of("createdAt", "-createdAt")

LIMIT = Parameter(
    name="limit",
    read=_page_size,
    schema={"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": 50},
    text="the most items on a page",
)
CURSOR = Parameter(
    name="cursor",
    read=str,
    schema={"type": "string", **CURSOR_SCHEMA},
    text="`nextCursor` of the page before",
)
LAST_EVENT = Header(
    name="Last-Event-ID",
    text="the `id` of the last event received, to continue after it; `0` for the beginning",
)
COUNT = Parameter(
    name="count",
    read=_count,
    schema={"type": "integer", "minimum": 1, "maximum": MOST_TICKS, "default": 10},
    text="how many ticks",
)
VOCABULARY = Parameter(
    name="vocabulary",
    read=_dialect,
    schema={"type": "string", "enum": list(DIALECTS)},
    text="adds the status in another vocabulary: `statusWord`, or both sides of an event",
)
DEFINITION = Parameter(name="definitionKey", read=_name, schema=_NAME, text="of this definition")
NAMESPACE = Parameter(
    name="namespace",
    read=_name,
    schema=_NAME,
    text="in this namespace: that of the key, or else `default`; lists are of all",
)
DELIVERY_STATE = Parameter(
    name="state",
    read=_delivery_state,
    schema={"type": "string", "enum": list(DeliveryState)},
    text="in this state",
)
_QUEUE = Parameter(name="queue", read=_name, schema=_NAME, text="in this queue")
WAIT = Parameter(
    name="waitSeconds",
    read=_wait,
    schema={"type": "number", "minimum": 0, "maximum": LONGEST_WAIT, "default": 0},
    text="how long to wait for the job to end",
)
WAIT_FOR_JOBS = structs.replace(WAIT, text="how long to wait for a job to claim, when none is queued")
WAITING_FOR = Parameter(
    name="waitingFor",
    read=_signal,
    schema=json.schema(StepName),
    text="suspended until it is sent this signal",
)
TOKEN = Parameter(name="token", read=_token, schema=_TOKEN, text="the token of the lease", is_required=True)
OF_LISTS = (
    Parameter(
        name="status",
        read=_state,
        schema={"type": "string", "enum": list(State)},
        text="in this state; given several times, in any of them",
        many=True,
    ),
    DEFINITION,
    _QUEUE,
    Parameter(name="tag", read=_name, schema=_NAME, text="with this tag"),
    Parameter(
        name="fingerprint",
        read=_fingerprint,
        schema={"type": "string", "pattern": fingerprint.PATTERN},
        text="dead letters with this cause, as `/v1/dead-letters` names it",
    ),
    WAITING_FOR,
    Parameter(name="createdAfter", read=inputs.bound, schema=_MOMENT, text="recorded at this time or later"),
    Parameter(name="createdBefore", read=inputs.bound, schema=_MOMENT, text="recorded before this time"),
    Parameter(name="sort", read=_read_sort, schema=_sort_schema, text="newest first, unless `createdAt`"),
    LIMIT,
    CURSOR,
    VOCABULARY,
)
OF_FEEDS = (
    DEFINITION,
    _QUEUE,
    Parameter(
        name="type",
        read=_event_type,
        schema={"type": "string", "anyOf": [{"enum": list(EVENT_TYPES)}, _CUSTOM_TYPE]},
        text="of this type; given several times, of any of them",
        many=True,
    ),
    VOCABULARY,
)
