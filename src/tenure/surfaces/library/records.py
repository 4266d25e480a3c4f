"""What the library returns of a job: records whose documents are Python values, not JSON text."""

from typing import Any

from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import KeptStep
from tenure.core.model.job import Event, Job
from tenure.core.reports.reading import FeedEntry
from tenure.core.values.documents import Document, read
from tenure.core.values.plain_fields import PlainFields


class JobRecord(PlainFields, Job, frozen=True, kw_only=True):
    """One job in full, as the database has it at the moment of the question.

    `params` and `result` are plain values: dicts, lists, texts, numbers. `progress` is a `Progress` or None,
    `error` a `Failure` or None.
    """

    params: Any
    """The params as plain values: dicts, lists, texts, numbers, whatever the handler's type is."""
    result: Any
    """What the handler returned, as plain values; None until the job has succeeded."""

    def word(self, vocabulary: str) -> str | None:
        """The state in the words of another description, such as `worker`; None where that has no word."""
        from tenure.api.dialects.known import DIALECTS

        dialect = DIALECTS.get(vocabulary)
        if dialect is None:
            raise InvalidInput("vocabulary", f"is {vocabulary!r:.64}", f"use one of {', '.join(DIALECTS)}")
        return dialect.word(self)


class EventRecord(PlainFields, Event, frozen=True, kw_only=True):
    """An event of a job, with the payload that the handler gave it as plain values.

    `n` counts a job's events 1, 2, 3 … without gaps. Most events are steps. A handler's own note does not
    move the job: source and target are the same.
    """

    payload: Any = None


class FeedRecord(PlainFields, FeedEntry, frozen=True):
    """An event in the feed, with the line and namespace of its job."""

    event: EventRecord


class StepRecord(PlainFields, KeptStep, frozen=True, kw_only=True):
    """A step that a job has kept, with its result as plain values; None also where it has none."""

    body: Any = None


def job_record(job: Job) -> JobRecord:
    """A job with values for documents."""
    fields = structs.asdict(job)
    return JobRecord(**{**fields, "params": read(job.params), "result": _value(job.result)})


def event_record(event: Event) -> EventRecord:
    """An event with a value for its payload."""
    return EventRecord(**{**structs.asdict(event), "payload": _value(event.payload)})


def step_record(step: KeptStep) -> StepRecord:
    """A step with a value for its result."""
    return StepRecord(**{**structs.asdict(step), "body": _value(step.body)})


def feed_record(entry: FeedEntry) -> FeedRecord:
    """An entry of the feed with a value for its payload."""
    return FeedRecord(entry.position, event_record(entry.event), entry.line, entry.namespace)


def _value(document: Document | None) -> Any:
    return None if document is None else read(document)
