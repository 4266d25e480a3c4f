"""What others write to a stream of ours is captured line by line, and the stream is restored afterwards."""

import os
from pathlib import Path

from tenure.telemetry.logs import captured_stdio
from tenure.telemetry.logs.captured_stdio import captured
from tests.until import until_sync


def test_lines_are_heard_and_reach_the_stream_no_more(tmp_path: Path) -> None:
    lines: list[bytes] = []
    with (tmp_path / "stream").open("wb", buffering=0) as stream:
        descriptor = stream.fileno()
        with captured(descriptor, lines.append):
            os.write(descriptor, b"one\ntw")
            os.write(descriptor, b"o\r\nx" + b"y" * captured_stdio.LONGEST_LINE + b"\nnot ended")
        os.write(descriptor, b"afterwards\n")
    assert lines[:2] == [b"one", b"two"]
    assert b"".join(lines[2:-1]) == b"x" + b"y" * captured_stdio.LONGEST_LINE
    assert max(map(len, lines)) <= captured_stdio.LONGEST_LINE
    assert lines[-1] == b"not ended"
    assert (tmp_path / "stream").read_bytes() == b"afterwards\n"


def test_who_writes_more_than_a_pipe_holds_does_not_wait(tmp_path: Path) -> None:
    """Even if a process that has the stream lives on: the end does not wait for it for long."""
    lines = 0

    def on_line(_line: bytes) -> None:
        nonlocal lines
        lines += 1

    with (tmp_path / "stream").open("wb", buffering=0) as stream:
        with captured(stream.fileno(), on_line):
            for _ in range(3000):
                os.write(stream.fileno(), b"x" * 99 + b"\n")
            kept = os.dup(stream.fileno())
        until_sync(lambda: lines == 3000)
        os.close(kept)
