"""What handlers do follows from their attempt, in every lane, and their spans reach the worker."""

import os
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio

from tenure.core.model.retry import Returned
from tenure.core.values.traceparent import parse
from tenure.execution.handler import tracing
from tenure.execution.lanes import Lanes
from tenure.execution.parent import reports
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import ROOT, Recorder, run
from tests.telemetry.tracing_app import LANES

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"
UNSAMPLED = f"00-{TRACE}-{SPAN}-02"
TARGET = "tests.telemetry.tracing_app:app"
PROVIDED = "tests.telemetry.own_tracer_app:app"
EXPORTED = {tracing.VARIABLE: "otlp"}


@pytest_asyncio.fixture(params=[EXPORTED, {}], ids=["exported", "off"])
async def lanes(request: pytest.FixtureRequest) -> AsyncIterator[Lanes]:
    lanes = Lanes(TARGET, folder=ROOT, environment=ChildEnvironment(os.environ, set_here=request.param))
    await lanes.start()
    yield lanes
    await lanes.close()


def is_exported(request: pytest.FixtureRequest) -> bool:
    named: str = request.node.callspec.id
    return named.startswith("exported")


async def answer(lanes: Lanes, lane: str, recorder: Recorder, traceparent: str | None) -> dict[str, object]:
    ended = await run(lanes.named(lane), f"trace.{lane}", {}, recorder=recorder, traceparent=traceparent)
    assert isinstance(ended.end, Returned), ended
    return msgspec.json.decode(ended.end.result, type=dict[str, object])


async def test_spans_follow_from_the_attempt_in_every_lane(
    lanes: Lanes, request: pytest.FixtureRequest
) -> None:
    """S1.76: and what a handler enqueues follows from its own span, or else from the attempt's."""
    for lane in LANES:
        recorder = Recorder()
        told = await answer(lanes, lane, recorder, FOLLOWED)
        assert told["traceparent"] == FOLLOWED, lane
        [job] = recorder.spawned
        follows = parse(job.traceparent)
        assert follows is not None
        assert (follows.trace_id, follows.flags) == (TRACE, 3), lane
        if not is_exported(request):
            assert (recorder.spans, follows.span_id) == ([], SPAN), lane
            continue
        parse_, fetch, fail = recorder.spans
        assert [span.name for span in recorder.spans] == ["parse", "fetch", "fail"], lane
        assert {span.trace_id for span in recorder.spans} == {TRACE}
        assert (fetch.parent_id, fail.parent_id, parse_.parent_id) == (SPAN, SPAN, fetch.span_id)
        assert follows.span_id == parse_.span_id
        assert fetch.attributes == {"size": 3, "tags": ["a", "b"]}
        assert [(event.name, event.attributes) for event in fetch.events] == [("cached", {"hit": True})]
        assert (fetch.status, fail.status, fail.message) == ("unset", "error", "ValueError: on purpose")
        assert fetch.began_at <= parse_.began_at <= parse_.ended_at <= fetch.ended_at
        assert fetch.scope == "sample"


async def test_an_attempt_follows_from_nothing_that_ran_before_it(lanes: Lanes) -> None:
    for lane in LANES:
        recorder = Recorder()
        await answer(lanes, lane, Recorder(), FOLLOWED)
        await answer(lanes, lane, recorder, None)
        assert not [span for span in recorder.spans if span.trace_id == TRACE], lane


async def test_a_trace_that_nobody_records_is_not_recorded_here(lanes: Lanes) -> None:
    recorder = Recorder()
    await answer(lanes, "process", recorder, UNSAMPLED)
    assert recorder.spans == []
    [job] = recorder.spawned
    follows = parse(job.traceparent)
    assert follows is not None
    assert (follows.trace_id, follows.is_sampled) == (TRACE, False)


async def test_a_program_is_told_by_a_variable(lanes: Lanes) -> None:
    assert await answer(lanes, "command", Recorder(), FOLLOWED) == {"traceparent": FOLLOWED}
    assert await answer(lanes, "command", Recorder(), None) == {"traceparent": None}


@pytest.mark.parametrize("lanes", [EXPORTED], indirect=True)
async def test_a_handler_cannot_flood_its_worker_with_spans(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "MOST_SPANS", 20)
    recorder = Recorder()
    await run(lanes.named("process"), "flood", {"n": 50}, recorder=recorder, traceparent=FOLLOWED)
    assert len(recorder.spans) == 20
    assert recorder.texts("warning") == ["more than 20 spans; the rest is dropped"]


@pytest.mark.parametrize("lanes", [EXPORTED], indirect=True)
async def test_a_span_that_cannot_be_sent_costs_the_handler_nothing(lanes: Lanes) -> None:
    recorder = Recorder()
    ended = await run(lanes.named("process"), "odd", {}, recorder=recorder, traceparent=FOLLOWED)
    assert isinstance(ended.end, Returned), ended
    derived = {"text": "x", "share": 0.5, "count": 2, "x": ["x"], "file": "?.txt"}
    assert [(span.name, span.attributes) for span in recorder.spans] == [
        ("odd", {"n": [1]}),
        ("x", derived),
        ("good", {}),
    ]


async def test_an_app_s_own_provider_is_left_alone_and_its_spans_follow_from_the_attempt() -> None:
    """S1.76: in every lane; they go where the app says, and not to the worker as well."""
    lanes = Lanes(PROVIDED, folder=ROOT, environment=ChildEnvironment(os.environ, set_here=EXPORTED))
    await lanes.start()
    try:
        for lane in LANES:
            recorder = Recorder()
            told = await answer(lanes, lane, recorder, FOLLOWED)
            assert told == {"name": "fetch", "trace": TRACE, "parent": SPAN}, lane
            assert recorder.spans == [], lane
    finally:
        await lanes.close()
