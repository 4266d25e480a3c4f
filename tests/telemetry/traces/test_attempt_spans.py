"""Each attempt is a span, however it ends, on both stores."""

import weakref
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

from tenure.core.model.outcome import Report, Succeeded
from tenure.core.model.states import State
from tenure.core.signals import AttemptHandedBack, AttemptLost, AttemptSettled, Signal, SpanEnded
from tenure.core.values import span as plain
from tenure.core.values.documents import Document
from tenure.core.values.ids import RANDOM_BYTES, uuid7
from tenure.core.values.traceparent import span_of
from tenure.execution.protocol.assignment import Assignment
from tenure.storage.contract.store import Store
from tenure.telemetry.traces.attempt_spans import AttemptSpans
from tenure.telemetry.traces.spans import Make
from tests.telemetry.collectors import LocalCollector, values_of
from tests.telemetry.sample_signals import claimed
from tests.worker.running_worker import appear, enqueue, reach, run_worker

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"


def attributes(span: Span) -> dict[str, Any]:
    return values_of(span.attributes)


def ids(span: Span) -> tuple[str, str, str | None]:
    """Trace, span and parent."""
    return span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or None


async def test_every_outcome_is_a_span_that_says_so(store: Store, tmp_path: Path) -> None:
    """S1.76: in the caller's trace, or in one of the job's own."""
    exported = LocalCollector()
    wait = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    killed = {"begun": str(tmp_path / "killed"), "end": str(tmp_path / "end")}
    async with run_worker(store, slots=8, shutdown=0, spans=exported.spans) as running:
        good = await enqueue(store, "echo", traceparent=FOLLOWED)
        alone = await enqueue(store, "echo")
        unheard = await enqueue(store, "echo", traceparent=UNSAMPLED)
        dead = await enqueue(store, "die", policy={"max_attempts": 1})
        snoozed = await enqueue(store, "snooze_once", {"snoozed": str(tmp_path / "snoozed")})
        stopped = await enqueue(store, "wait", wait)
        await appear(tmp_path / "begun")
        await store.cancel([stopped])
        for job in (good, alone, unheard, dead, snoozed, stopped):
            await reach(store, job, State.SUCCEEDED, State.FAILED, State.CANCELLED)
        given_back = await enqueue(store, "wait", killed)
        await appear(tmp_path / "killed")
        running.stop()
    ends = {
        job: [
            (attributes(one)["tenure.outcome"], attributes(one)["tenure.state"]) for one in exported.of(job)
        ]
        for job in (good, alone, unheard, dead, snoozed, stopped, given_back)
    }
    assert ends == {
        good: [("succeeded", "succeeded")],
        alone: [("succeeded", "succeeded")],
        unheard: [],
        dead: [("recoverable", "failed")],
        snoozed: [("suspended", "suspended"), ("succeeded", "succeeded")],
        stopped: [("stopped", "cancelled")],
        given_back: [("killed", "queued")],
    }
    [span], [own], [failed] = exported.of(good), exported.of(alone), exported.of(dead)
    assert (span.name, span.kind) == ("process echo", Span.SPAN_KIND_CONSUMER)
    trace, _, parent = ids(span)
    assert (trace, parent) == (TRACE, SPAN)
    assert ids(own)[0] == alone.hex
    assert not own.parent_span_id
    assert attributes(span) == {
        "messaging.system": "tenure",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": str(good),
        "tenure.definition": "echo",
        "tenure.version": 1,
        "tenure.attempt": 1,
        "tenure.outcome": "succeeded",
        "tenure.state": "succeeded",
    }
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert (failed.status.code, attributes(failed)["error.type"]) == (
        Status.STATUS_CODE_ERROR,
        "KilledBySignal",
    )
    assert exported.service == "tenure"
    assert span.end_time_unix_nano > span.start_time_unix_nano


async def test_an_attempt_has_a_link_to_the_one_before_it_whoever_ran_that(
    store: Store, tmp_path: Path
) -> None:
    """S1.76: two workers, of which the second knows nothing of the first."""
    first, second = LocalCollector(), LocalCollector()
    wait = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    async with run_worker(store, spans=first.spans):
        job = await enqueue(store, "fail_when_told", wait, traceparent=FOLLOWED)
        await appear(tmp_path / "begun")
        await store.pause("default")
        (tmp_path / "end").touch()
        await reach(store, job, State.RETRYING, State.QUEUED)
    await store.resume("default")
    async with run_worker(store, spans=second.spans):
        await reach(store, job, State.SUCCEEDED)
    [one], [two] = first.of(job), second.of(job)
    assert ids(one)[1] != ids(two)[1]
    assert [ids(each)[::2] for each in (one, two)] == [(TRACE, SPAN)] * 2
    assert not one.links
    [link] = two.links
    assert (link.trace_id.hex(), link.span_id.hex()) == ids(one)[:2]
    [earlier, _] = await store.attempts(job)
    assert ids(one)[1] == span_of(job, earlier.fence)
    assert (attributes(one)["error.type"], attributes(two)["tenure.attempt"]) == ("ValueError", 2)
    assert not [value for value in attributes(one).values() if "told to fail" in str(value)]


async def test_of_many_attempts_each_has_a_link_to_the_last_one_before_it(store: Store) -> None:
    """S1.76."""
    exported = LocalCollector()
    async with run_worker(store, spans=exported.spans):
        job = await enqueue(store, "fail_first", {"failures": 2})
        await reach(store, job, State.SUCCEEDED)
    one, two, three = exported.of(job)
    linked = [[link.span_id.hex() for link in each.links] for each in (one, two, three)]
    assert linked == [[], [ids(one)[1]], [ids(two)[1]]]


async def test_the_sampler_is_asked_once_and_holds_for_the_handler_as_well(store: Store) -> None:
    """S1.76: without a traced caller nothing is sampled here, with one it is."""
    exported = LocalCollector(ParentBased(ALWAYS_OFF))
    async with run_worker(store, spans=exported.spans):
        for job in (await enqueue(store, "echo"), await enqueue(store, "echo", traceparent=FOLLOWED)):
            await reach(store, job, State.SUCCEEDED)
    assert [one.name for one in exported.taken] == ["process echo"]


class _Large(str):
    """A document that shows whether a reference to it is left."""

    __slots__ = ("__weakref__",)


async def test_a_span_that_waits_keeps_nothing_of_what_the_job_was_given_and_has_returned(
    store: Store,
) -> None:
    """S1.76: thousands may wait for a collector, and their documents may be large."""
    waiting: list[Make] = []

    class Waiting:
        def samples(self, *_: object) -> bool:
            return True

        def export(self, make: Make, size: int = 0) -> None:
            waiting.append(make)
            sizes.append(size)

    sizes: list[int] = []
    params, result = _Large("{}"), _Large("[]")
    known = [weakref.ref(params), weakref.ref(result)]
    of = replace(claimed(), params=params)
    own = plain.Span(name="own", trace_id=TRACE, span_id=SPAN, began_at=1, ended_at=2)
    ends: list[Signal] = [
        AttemptSettled(of, Report(of.lease, Succeeded(Document(result))), State.SUCCEEDED),
        AttemptHandedBack(of, State.QUEUED, has_begun=True),
        AttemptLost(of, fenced=True),
        SpanEnded(of, own),
    ]
    spans = AttemptSpans(Waiting(), store)
    job, fence = of.lease.job, of.lease.fence
    del params, result, of
    while ends:
        spans.begin(Assignment(job=job, fence=fence, attempt=1, definition="mail", version=1))
        spans(ends.pop(0))
    assert [each() for each in known] == [None, None]
    assert [type(make()) for make in waiting] == [bytes, bytes, bytes, plain.Span]
    assert waiting[-1]() == own
    assert sizes[:-1] == [0, 0, 0]
    assert len("own") + len(TRACE) + len(SPAN) < sizes[-1] < 500


def test_of_jobs_that_nobody_traces_the_sampler_takes_its_share() -> None:
    """S1.76: though their traces have their ids, which are not chance in every bit; each attempt alike."""
    spans = LocalCollector(ParentBased(TraceIdRatioBased(0.1))).spans
    chance = Random(1)
    jobs = [uuid7(n, chance.randbytes(RANDOM_BYTES)).hex for n in range(2000)]
    taken = [job for job in jobs if spans.samples(job, None, "consumer")]
    assert 100 < len(taken) < 300
    assert all(spans.samples(job, None, "consumer") for job in taken)
    spans.close()
