"""Frames and lines, cut from bytes that come in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.model.trail import LogLine
from tenure.execution.parent import output
from tenure.execution.parent.output import Budget, Journal, OutputStream
from tenure.execution.protocol.frames import LARGEST_FRAME, Frames, Garbage, batch, frame, item, read
from tenure.execution.protocol.messages import FROM_CHILD, FROM_RUNNER, EventMessage, LogMessage

pieces = st.lists(st.binary(max_size=40), max_size=20)


@given(st.lists(st.text(max_size=50), max_size=8), st.integers(1, 30))
def test_frames_arrive_whole_however_they_are_cut(texts: list[str], size: int) -> None:
    sent = b"".join(frame(EventMessage("x", text)) for text in texts)
    frames = Frames()
    bodies = [body for start in range(0, len(sent), size) for body in frames.feed(sent[start : start + size])]
    assert [read(FROM_CHILD, body) for body in bodies] == [EventMessage("x", text) for text in texts]


@given(st.lists(st.tuples(st.integers(0, 2**40), st.text(max_size=50)), max_size=8), st.integers(1, 30))
def test_batches_arrive_whole_however_they_are_cut(said: list[tuple[int, str]], size: int) -> None:
    sent = batch([item(number, EventMessage("x", text)) for number, text in said])
    frames = Frames()
    bodies = [body for start in range(0, len(sent), size) for body in frames.feed(sent[start : start + size])]
    heard = [each for body in bodies for each in read(FROM_RUNNER, body)]
    assert heard == [(number, EventMessage("x", text)) for number, text in said]


def test_a_batch_that_is_too_large_for_one_frame_travels_in_several() -> None:
    large = [item(n, LogMessage("info", "x" * (LARGEST_FRAME - 100))) for n in range(3)]
    bodies = list(Frames().feed(batch(large)))
    assert [number for body in bodies for number, _ in read(FROM_RUNNER, body)] == [0, 1, 2]
    with pytest.raises(Garbage):
        item(1, LogMessage("info", "x" * LARGEST_FRAME))


def test_a_frame_that_is_too_large_is_neither_sent_nor_awaited() -> None:
    with pytest.raises(Garbage):
        frame(LogMessage("info", "x" * LARGEST_FRAME))
    with pytest.raises(Garbage):
        list(Frames(limit=10).feed((11).to_bytes(4, "big")))


@given(st.binary(max_size=200))
def test_whatever_arrives_is_a_message_or_garbage(body: bytes) -> None:
    try:
        read(FROM_CHILD, body)
    except Garbage:
        pass


@given(pieces)
def test_lines_are_the_same_however_the_bytes_are_cut(data: list[bytes]) -> None:
    assert texts_of(data) == texts_of([b"".join(data)])


@given(pieces)
def test_a_line_holds_nothing_that_a_terminal_obeys(data: list[bytes]) -> None:
    assert not any(set(text) & set("\x00\x07\x1b\r\n\x7f\x9b\u2028") for text in texts_of(data))


def test_many_empty_lines_cost_no_more_than_the_bound() -> None:
    said: list[LogLine] = []
    budget = Budget(Journal(said.append), "the output")
    stream = OutputStream("stdout", budget)
    for _ in range(5):
        stream.feed(b"\n" * 1_000_000)
    assert len(said) == output.MOST_LINES + 1
    assert budget.is_spent


def test_many_long_lines_are_cut_by_their_bytes() -> None:
    said: list[LogLine] = []
    stream = OutputStream("stdout", Budget(Journal(said.append), "the output"))
    stream.feed((b"y" * 4_095 + b"\n") * 1_000)
    assert sum(len(line.text) for line in said[:-1]) <= output.MOST_BYTES
    assert said[-1].level == "warning"
    assert len(said) < 300


def texts_of(data: list[bytes]) -> list[str]:
    said: list[LogLine] = []
    stream = OutputStream("stdout", Budget(Journal(said.append), "the output"))
    for piece in data:
        stream.feed(piece)
    stream.close()
    return [line.text for line in said]
