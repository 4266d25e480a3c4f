"""Export blocks no caller: spans that cannot be sent are counted and noticed."""

import threading
import time
from collections.abc import Sequence

from tenure.api.redaction import Redaction
from tenure.core.values.span import Span
from tenure.telemetry.traces.batches import Batches, BatchLimits
from tenure.telemetry.traces.otlp import FAILED, RECOVERED, TOO_MANY, OtlpSpans

SOON = 30.0


class Slow:
    """Takes what comes when it is let, and says whether it could."""

    def __init__(self) -> None:
        self.is_let = threading.Event()
        self.problems: list[str] = []
        self.came = threading.Semaphore(0)

    def send(self, _body: bytes) -> str:
        self.came.release()
        assert self.is_let.wait(SOON)
        return self.problems.pop(0) if self.problems else ""

    def close(self) -> None:
        self.is_let.set()


def span() -> Span:
    return Span(name="n", trace_id="1" * 32, span_id="1" * 16, began_at=1, ended_at=2)


def test_what_finds_no_room_is_dropped_and_counted_and_the_rest_is_handed_on_in_order() -> None:
    let, came = threading.Event(), threading.Semaphore(0)
    sent: list[list[int]] = []

    def send(batch: Sequence[int]) -> None:
        came.release()
        assert let.wait(SOON)
        sent.append(list(batch))

    batches = Batches(send, BatchLimits(most=5, together=2, seconds=SOON))
    batches.put(0)
    batches.put(1)
    assert came.acquire(timeout=SOON)  # these two are being sent, and not received yet
    for n in range(2, 10):
        batches.put(n)
    let.set()
    batches.close(SOON)
    assert sent == [[0, 1], [2, 3], [4, 5], [6]]
    assert batches.dropped == 3


def test_what_holds_too_many_bytes_is_dropped_until_what_was_sent_is_gone() -> None:
    """What is being sent counts: it is in memory until it was received."""
    let, came = threading.Event(), threading.Semaphore(0)
    sent: list[list[int]] = []

    def send(batch: Sequence[int]) -> None:
        came.release()
        assert let.wait(SOON)
        sent.append(list(batch))

    batches = Batches(
        send, BatchLimits(most=100, together=100, seconds=SOON, most_bytes=100, bytes_together=50)
    )
    batches.put(0, size=30)
    batches.put(1, size=30)  # and with it there is enough for a batch
    assert came.acquire(timeout=SOON)
    batches.put(2, size=41)
    batches.put(3, size=20)
    batches.put(4)
    batches.put(5, size=20)
    batches.put(6, size=1)
    batches.put(7, size=100)
    assert batches.dropped == 3
    let.set()
    batches.close(SOON)
    assert sent == [[0, 1], [3, 4, 5]]


def test_a_batch_has_only_so_many_bytes() -> None:
    let, sent = threading.Event(), list[list[int]]()

    def send(batch: Sequence[int]) -> None:
        assert let.wait(SOON)
        sent.append(list(batch))

    batches = Batches(
        send, BatchLimits(most=100, together=3, seconds=SOON, most_bytes=1000, bytes_together=50)
    )
    for n, size in enumerate([60, 30, 30, 10, 10, 10, 10]):
        batches.put(n, size)
    let.set()
    batches.close(SOON)
    assert sent == [[0], [1, 2], [3, 4, 5], [6]]


def test_what_is_too_few_for_a_batch_is_sent_after_a_while() -> None:
    came = threading.Event()
    batches: Batches[int] = Batches(lambda _: came.set(), BatchLimits(most=5, together=5, seconds=0.01))
    batches.put(1)
    assert came.wait(SOON)
    batches.close(SOON)


def test_whoever_closes_waits_no_longer_than_he_has_patience() -> None:
    """Though it was received, and no answer came."""
    let, came = threading.Event(), threading.Event()

    def send(_: Sequence[int]) -> None:
        came.set()
        assert let.wait(SOON)

    batches = Batches(send, BatchLimits(most=5, together=1, seconds=SOON))
    batches.put(1)
    assert came.wait(SOON)
    began = time.monotonic()
    batches.close(0.01)
    assert time.monotonic() - began < SOON / 2
    let.set()
    batches.close(SOON)


def test_a_failure_is_told_once_and_so_is_the_success_after_it() -> None:
    """With how many were dropped until then."""
    slow, notices = Slow(), list[str]()
    calls: list[tuple[str, str, str]] = []
    slow.problems = ["503", "ConnectionError", "", ""]
    slow.is_let.set()

    def called(service: str, operation: str, _seconds: float, error_code: str) -> None:
        calls.append((service, operation, error_code))

    spans = OtlpSpans(slow, notices.append, Redaction(()), on_export=called, limits=BatchLimits(10, 1, SOON))
    for _ in range(4):
        spans.export(span)
    spans.close()
    assert notices == [FAILED, f"{RECOVERED} 2"]
    assert spans.dropped == 2
    assert calls == [("otlp", "export", problem) for problem in ("503", "ConnectionError", "", "")]


def test_more_spans_than_can_be_sent_are_told_of_and_what_cannot_be_made_hinders_no_other() -> None:
    slow, notices = Slow(), list[str]()
    spans = OtlpSpans(slow, notices.append, Redaction(()), limits=BatchLimits(2, 1, SOON))
    spans.export(span)
    assert slow.came.acquire(timeout=SOON)
    for _ in range(6):
        spans.export(span)
    slow.is_let.set()
    spans.close()
    assert notices == [f"{TOO_MANY} 4"]

    notices.clear()
    spans = OtlpSpans(slow, notices.append, Redaction(()), limits=BatchLimits(10, 1, SOON))
    spans.export(lambda: span()._replace())  # type: ignore[attr-defined]  # a bug in the maker
    spans.export(span)
    spans.close()
    assert notices == [FAILED, f"{RECOVERED} 1"]
