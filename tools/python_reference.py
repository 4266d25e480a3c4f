"""Writes the generated parts of docs/reference/python.md: public names, signatures, options, exceptions."""

import re
from collections.abc import Iterator
from pathlib import Path

import tenure
from tenure import Client, Context, JobHandle, State, Tenure, TenureError, backoff, instrument, webhooks
from tenure.api.job_options import Options
from tenure.core import errors as core_errors
from tenure.core.errors import Directive
from tenure.core.model import aside, signal_errors, step_errors
from tenure.core.model.job import Enqueued
from tenure.core.model.lease import Progress
from tenure.core.reports.why import Why
from tenure.core.values.failure import Failure
from tenure.execution.handler.context import Cancellation, Log
from tenure.execution.handler.durable_context import DurableContext
from tenure.execution.handler.metrics import Metrics
from tenure.surfaces.library.app_metrics import AppMetrics
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.records import EventRecord, FeedRecord, JobRecord
from tenure.surfaces.library.schedule_terms import ScheduleTerms
from tenure.surfaces.library.terms import DefinitionTerms
from tenure.surfaces.remote import errors as remote_errors
from tools.python_source import Field, Method, constructor, fields, method, methods, paragraphs, twins
from tools.tables import table

PAGE = Path(__file__).parent.parent / "docs/reference/python.md"

ROW = 180
"""The most characters of a signature and its text that make a row of a table."""

CLASSES: dict[type, str] = {
    Context: "ctx",
    DurableContext: "ctx",
    Log: "ctx.log",
    Cancellation: "ctx.cancelled",
    Metrics: "ctx.metrics",
    JobDefinition: "welcome",
    JobHandle: "job",
    Tenure: "app",
    AppMetrics: "app.metrics",
    Client: "client",
}
"""The classes whose methods are listed, and what their instances are called in the signatures."""

MADE_BY_USERS = {Tenure, Client}
"""Classes whose instances a user makes."""

ELSEWHERE = {"Tenure": {"job"}}
"""Methods that have a section of their own."""

_RECORDS = (JobRecord, Progress, EventRecord, FeedRecord, Enqueued, Why, Failure)
VALUES = (*_RECORDS, tenure.RemoteJob, tenure.RemoteEvent)
"""What methods return, listed by their fields."""


REMEDIES = {
    "TenureError": "catch it to catch all of them",
    "InvalidInput": "change the value; `field`, `problem` and `remedy` say which and how",
    "InvalidJson": "change the document at `pointer`",
    "InvalidParams": "give params that fit; `problems` lists each with its pointer",
    "PositionGone": 'begin anew: `app.events(after="0")`, or without `after`',
    "UnknownDefinition": "mend the key, import the module that has it, or start a worker that serves it",
    "IdempotencyConflict": "repeat the first request unchanged, or use a new key; `job` has the old one",
    "JobNotFound": "check the id and the database; inside your own transaction, commit first",
    "JobIsAside": "mend its rows, then `job.put_back()`",
    "JobNotWaiting": "the message names the way out: release, wait, cancel or replay",
    "NoResult": "catch it to catch the four below",
    "JobUnfinished": "`await job.wait()`, or ask again later",
    "JobFailed": "look at `error`; mend the cause, then replay the job",
    "JobCancelled": "nothing: somebody asked for it",
    "JobBuried": "find out whether the work was done, then replay the job or not",
    "ResultMismatch": "read `job.get().result`; raise `version` when the return type changes",
    "StoreError": "catch it to catch those below",
    "StoreUnavailable": "try again; with `unknown` the job may be there, so use an `idempotency_key`",
    "RetentionBroken": "set it again: `tenure retention set`; until then nothing is deleted",
    "StoreBusy": "try again",
    "StoreRefused": "read the message; it is a fault in the statement or in the database",
    "DataRefused": "look at the data that the message names",
    "JobsAside": "try again; the jobs in `asides` need a person",
    "SchemaMismatch": "run `tenure migrate`, or update the program",
    "StoreRestored": "stop everything, then run `tenure migrate --after-restore`",
    "StoreForbidden": "in a handler, write `await ctx.enqueue(…)`, in a plain `def` `ctx.enqueue_sync(…)`",
    "ProgramFailed": "look at the job's log; `retry_on` and `fatal_on` know its `kinds`",
    "ProcessStartFailed": "mend what the hook needs; `retry_on` and `fatal_on` may name it or its cause",
    "LeaseLost": "nothing: another attempt has the job, or will",
    "Retry": "raise it in a handler",
    "Snooze": "raise it in a handler",
    "Fatal": "raise it in a handler",
    "InDoubt": "find out whether it has happened; without that, do what is right in both cases",
    "SuspensionSwallowed": "write `except Exception`, or raise again what `except BaseException` has caught",
    "StepChanged": "give what has changed another name; catch it to run the step anew under one",
    "StepResultRefused": "return less, or a reference to where it is",
    "TooManySteps": "do more in each step, or call `ctx.forget(prefix)`",
    "JobEnded": "nothing: the job does not wait any more; `state` says how it ended",
    "SignalDiffers": "send what is new under another name; the first payload stands",
    "TooManySignals": "send one signal with all that there is to tell",
    "NotInDoubt": "look at `job.steps()`: somebody has answered, or the name is another one",
    "RemoteError": "catch it to catch all errors of clients",
    "Unreachable": "try again; with `unknown` the server may have done it",
    "Untrusted": "check the address, or name your authority in `SSL_CERT_FILE`",
    "UnexpectedAnswer": "check the address: no Tenure server answered",
    "Refused": "read `kind`, `detail` and `errors`",
    "NotAllowed": "give a valid key with the scope that the call needs",
    "NotFound": "check the id, and the namespace of the key",
    "Conflict": "read the job: its state does not allow this",
    "TooMany": "wait `retry_after` seconds",
}
"""What to do about each error."""


def page(text: str) -> str:
    """The page with its parts as the code has them now."""
    parts = {
        "job": _decorator(method(Tenure.job, "@app.job")),
        "terms": _options(DefinitionTerms, "option"),
        "options": _options(Options, "option"),
        "schedule": _options(ScheduleTerms, "term"),
        "backoff": _called(method(backoff, "backoff")),
        "instrument": _calls(
            [method(getattr(instrument, name), f"instrument.{name}") for name in instrument.__all__]
        ),
        "webhooks": _called(method(webhooks.verify, "webhooks.verify"))
        + _value(webhooks.WebhookEvent)
        + _value(webhooks.WebhookError)
        + f"**`NotVerified`**: {paragraphs(webhooks.NotVerified.__doc__ or '')}\n",
        "errors": _errors(),
        "values": "".join(_value(kind) for kind in VALUES),
        "states": ", ".join(f"`{state}`" for state in State) + ".\n",
        **{kind.__name__: _class(kind, subject) for kind, subject in CLASSES.items()},
    }
    for name, written in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin not in text:
            raise SystemExit(f"{PAGE.name} has no part {name}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{written.strip()}\n\n{end}{rest.partition(end)[2]}"
    return text


def undescribed() -> Iterator[str]:
    """The public names, methods and options that have no docstring, and the errors without a way out."""
    for kind, subject in CLASSES.items():
        yield from (kind.__name__ for _ in [0] if not kind.__doc__)
        yield from (found.signatures[0] for found in methods(kind, subject) if not found.text)
        yield from (f"{kind.__name__}.{field.name}" for field in fields(kind) if not field.text)
    for options in (DefinitionTerms, Options, ScheduleTerms):
        yield from (field.name for field in fields(options) if not (field.meaning and field.default))
    for error in errors():
        yield from (error.__name__ for _ in [0] if not error.__doc__ or error.__name__ not in REMEDIES)


def errors() -> list[type[TenureError]]:
    """The public errors, each behind the one that it is derived from."""
    modules = (core_errors, aside, step_errors, signal_errors, remote_errors)
    named = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    public = [kind for kind in named if kind.__name__ in tenure.__all__ and issubclass(kind, TenureError)]
    kinds = sorted(dict.fromkeys(public), key=lambda kind: not issubclass(kind, Directive))
    found: list[type[TenureError]] = []

    def add(kind: type[TenureError]) -> None:
        found.append(kind)
        for below in kinds:
            if _parent(below) is kind:
                add(below)

    add(TenureError)
    return found


def _parent(kind: type[TenureError]) -> type[TenureError] | None:
    return next((above for above in kind.__mro__[1:] if above.__name__ in tenure.__all__), None)


def _errors() -> str:
    drawn = "".join(f"{'    ' * _depth(kind)}{kind.__name__}\n" for kind in errors())
    rows = [
        (f"`{kind.__name__}`", _cell(paragraphs(kind.__doc__ or "")), _cell(REMEDIES.get(kind.__name__, "")))
        for kind in errors()
    ]
    return f"```text\n{drawn}```\n\n" + table(("error", "it means", "what to do"), rows)


def _depth(kind: type[TenureError]) -> int:
    parent = _parent(kind)
    return 0 if parent is None else 1 + _depth(parent)


def _options(kind: type, head: str) -> str:
    rows = [(f"`{field.name}`", _default(field), _cell(field.meaning)) for field in fields(kind)]
    return table((head, "default", "meaning"), rows)


def _default(field: Field) -> str:
    value, comma, rest = field.default.partition(", or ")
    is_code = re.fullmatch(r'[\d.]+|".*"|False|\w+\(.*\)', value)
    return _cell(f"`{value}`{comma}{rest}" if is_code else field.default)


def _class(kind: type, subject: str) -> str:
    parts = [f"{paragraphs(kind.__doc__ or '')}\n\n"]
    if kind in MADE_BY_USERS:
        parts.append(_called(constructor(kind)))
    if attributes := fields(kind):
        rows = [
            (f"`{subject}.{field.name}`", f"`{_cell(field.kind)}`", _cell(field.text)) for field in attributes
        ]
        parts.append(table(("attribute", "type", ""), rows) + "\n")
    hidden = ELSEWHERE.get(kind.__name__, set())
    parts.append(_calls([found for found in methods(kind, subject) if found.name not in hidden]))
    if names := twins(kind):
        shown = ", ".join(f"`{name}_sync`" for name in names)
        parts.append(f"For plain code, which does not await, with the same arguments: {shown}.\n")
    return "".join(parts)


def _calls(found: list[Method]) -> str:
    """Methods one below the other; short ones as a table."""
    if any(len(one.signatures) > 1 or len(one.signatures[0]) + len(one.text) > ROW for one in found):
        return "".join(_called(one) for one in found)
    return table(("call", ""), ((f"`{_cell(one.signatures[0])}`", _cell(one.text)) for one in found))


def _called(found: Method) -> str:
    return "```python\n" + "\n".join(found.signatures) + f"\n```\n\n{found.text}\n\n"


def _decorator(found: Method) -> str:
    """A decorator without the types of what it takes and returns, which say nothing to a reader."""
    shown = dict.fromkeys(signature.partition(" -> ")[0] for signature in found.signatures)
    return _called(found._replace(signatures=list(shown)))


def _value(kind: type) -> str:
    fields_of: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    names = ", ".join(f"`{name}`" for name in fields_of)
    return f"**`{kind.__name__}`**: {paragraphs(kind.__doc__ or '')} Fields: {names}.\n\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
