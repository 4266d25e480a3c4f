"""The frames of a traceback: the user's own stand out with their source; runs of others are folded."""

import json
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenure.core.model.retry import describe
from tenure.core.values.failure import Excerpt, Failure
from tenure.execution.child.own_source import source_of
from tenure.surfaces.dashboard.pages.job.frames import (
    MOST_OWN,
    OtherFrames,
    OwnFrame,
    Raising,
    TraceView,
    place_of,
    trace_of,
)

LIBRARY = "/srv/venv/lib/python3.11/site-packages/httpx/_client.py"
TEXT = f"""Traceback (most recent call last):
  File "/srv/tenure/execution/child/reusable_loop.py", line 40, in run
    return runner.run(main)
  File "/srv/app/shop/jobs/invoices.py", line 41, in invoice_send
    receipt = await ledger.post(invoice, pdf)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/srv/app/shop/ledger.py", line 88, in post
    answer = await client.post(self.url)
  File "{LIBRARY}", line 10, in post
    return await self.request("POST")
  File "/usr/lib/python3.11/asyncio/timeouts.py", line 115, in __aexit__
    raise TimeoutError from exc_val
  File "/srv/venv/lib/python3.11/site-packages/httpcore/_exceptions.py", line 14, in map_exceptions
    raise to_exc(exc) from exc
httpx.ConnectTimeout: no answer
"""
SOURCE = (
    Excerpt("/srv/app/shop/ledger.py", 88, 87, ("    # ask", "    answer = await client.post(self.url)")),
)


def _failure(text: str, *source: Excerpt) -> Failure:
    return Failure("ConnectTimeout", "no answer", text, tuple(source))


def test_own_frames_stand_out_and_runs_of_others_fold() -> None:
    trace = trace_of(_failure(TEXT, *SOURCE))
    assert trace is not None
    assert trace.count == 6
    assert [kind for kind, _ in trace.parts] == ["others", "own", "own", "others", "raised"]
    tenure, first, last, folded, raised = [part for _, part in trace.parts]
    assert isinstance(tenure, OtherFrames)
    assert tenure.names == ["Tenure"]
    assert isinstance(first, OwnFrame)
    assert (first.frame.function, first.frame.place) == ("invoice_send", "shop/jobs/invoices.py:41")
    assert [(line.n, line.text, line.is_hit) for line in first.source] == [
        (41, "receipt = await ledger.post(invoice, pdf)", True)
    ]
    assert isinstance(last, OwnFrame)
    assert [(line.n, line.is_hit) for line in last.source] == [(87, False), (88, True)]
    assert (first.is_last, last.is_last) == (False, True)
    assert isinstance(folded, OtherFrames)
    assert (len(folded.frames), folded.names) == (2, ["httpx", "asyncio"])
    assert isinstance(raised, Raising)
    assert raised.frame is not None
    assert raised.frame.place == "httpcore/_exceptions.py:14"
    assert place_of(_failure(TEXT)) == "app/shop/ledger.py:88 in post"


def test_every_frame_is_shown_one_by_one_if_that_is_asked_for() -> None:
    trace = trace_of(_failure(TEXT, *SOURCE), TraceView.ALL)
    assert trace is not None
    assert [kind for kind, _ in trace.parts] == [
        *("others", "own", "own", "others", "others", "others", "raised")
    ]


def test_what_was_kept_as_own_is_own_wherever_it_is_installed() -> None:
    kept = Excerpt(LIBRARY, 10, 10, ("x",))
    trace = trace_of(_failure(TEXT, kept))
    assert trace is not None
    own = [part.frame.file for _, part in trace.parts if isinstance(part, OwnFrame)]
    assert own[-1] == LIBRARY


def _explode(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise KeyError("no such order") from error


def test_a_chain_is_shown_in_the_order_of_python_with_its_links() -> None:
    """A real traceback; the source is read as where an attempt fails."""
    with pytest.raises(KeyError) as caught:
        _explode("{")
    error = replace(describe(caught.value).error, source=source_of(caught.value))
    trace = trace_of(error)
    assert trace is not None
    raised = [part for _, part in trace.parts if isinstance(part, Raising)]
    assert raised[0].text.startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert raised[0].link == "The above exception was the direct cause of the following exception:"
    assert raised[-1].text == "KeyError: 'no such order'"
    last = [part for _, part in trace.parts if isinstance(part, OwnFrame)][-1]
    assert last.is_last
    assert 'raise KeyError("no such order")' in next(line.text for line in last.source if line.is_hit)
    assert place_of(error).endswith(" in _explode")
    assert Path(__file__).name in place_of(error)


@pytest.mark.parametrize(
    "text", ["", "Error: boom\n    at charge (/app/pay.js:3:7)", "goroutine 1 [running]:"]
)
def test_what_is_no_python_traceback_has_no_frames(text: str) -> None:
    assert trace_of(_failure(text)) is None
    assert place_of(_failure(text)) == ""


def test_a_deep_recursion_is_told_and_the_first_of_very_many_own_frames_fold() -> None:
    line = partial('  File "/srv/app/tree.py", line {0}, in walk\n    walk({0})\n'.format)
    deep = "Traceback (most recent call last):\n" + "".join(line(n) for n in range(1, 41))
    trace = trace_of(_failure(deep + "  [Previous line repeated 975 more times]\nRecursionError: deep\n"))
    assert trace is not None
    first, *own = [part for _, part in trace.parts if not isinstance(part, Raising)]
    assert isinstance(first, OtherFrames)
    assert (len(first.frames), first.names) == (40 - MOST_OWN, ["your code"])
    assert len(own) == MOST_OWN
    assert isinstance(own[-1], OwnFrame)
    assert own[-1].frame.repeated == 975
