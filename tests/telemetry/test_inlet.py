"""What others write to a stream of ours is heard, line by line, and the stream is as before afterwards."""

import os
from pathlib import Path

from tenure.telemetry import inlet
from tenure.telemetry.inlet import taken_in


def test_lines_are_heard_and_reach_the_stream_no_more(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with (tmp_path / "stream").open("wb", buffering=0) as stream:
        descriptor = stream.fileno()
        with taken_in(descriptor, heard.append):
            os.write(descriptor, b"one\ntw")
            os.write(descriptor, b"o\r\nx" + b"y" * inlet.LONGEST_LINE + b"\nnot ended")
        os.write(descriptor, b"afterwards\n")
    assert heard[:2] == [b"one", b"two"]
    assert b"".join(heard[2:-1]) == b"x" + b"y" * inlet.LONGEST_LINE
    assert max(map(len, heard)) <= inlet.LONGEST_LINE
    assert heard[-1] == b"not ended"
    assert (tmp_path / "stream").read_bytes() == b"afterwards\n"


def test_who_writes_more_than_a_pipe_holds_does_not_wait(tmp_path: Path) -> None:
    """Even when somebody lives on who has the stream: the end does not wait for that for long."""
    lines = 0

    def heard(_line: bytes) -> None:
        nonlocal lines
        lines += 1

    with (tmp_path / "stream").open("wb", buffering=0) as stream:
        with taken_in(stream.fileno(), heard):
            for _ in range(3000):
                os.write(stream.fileno(), b"x" * 99 + b"\n")
            kept = os.dup(stream.fileno())
        while lines < 3000:
            pass
        os.close(kept)
