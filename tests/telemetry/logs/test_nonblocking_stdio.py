"""A stream without a reader blocks no caller, and what it did not take is counted."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

from tenure.telemetry.logs.nonblocking_stdio import NonblockingStdio
from tests.until import until_sync

SMALLEST = 4096
"""Bytes that a pipe holds at least."""

LINE = b"x" * 127


def form(waiting: Sequence[bytes], dropped: int) -> list[bytes]:
    head = [b"dropped %d\n" % dropped] if dropped else []
    return [*head, *(line + b"\n" for line in waiting)]


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a small pipe."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALLEST)
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def read(reading: int, until: bytes) -> bytes:
    """What comes, as far as a text."""
    output = b""
    while until not in output:
        output += os.read(reading, 65_536)
    return output


def test_who_puts_something_in_does_not_wait_for_a_reader() -> None:
    with pipe() as (reading, writing):
        stdio = NonblockingStdio(writing, form, most_waiting=500)
        for _ in range(2000):  # some sixty times what the pipe takes
            stdio.put(LINE)
        output = read(reading, b"dropped ")
        output += read(reading, b"\n")
        dropped = int(output.rpartition(b"dropped ")[2].split()[0])
        stdio.put(b"the last")
        output += read(reading, b"the last\n")
        stdio.close()
        assert output.count(LINE) + dropped == 2000
        assert dropped >= 1000


def test_an_end_without_a_reader_is_an_end() -> None:
    with pipe() as (reading, writing):
        stdio = NonblockingStdio(writing, form)
        for _ in range(99):
            stdio.put(LINE)
        stdio.put(b"the last")
        stdio.close(patience=0.01)
        # Its thread still writes, and must have ended before the descriptor is used for another file.
        read(reading, b"the last\n")
        stdio.close()


def test_a_reader_that_is_slow_but_goes_on_is_told_all_before_the_end() -> None:
    with pipe() as (reading, writing):
        stdio = NonblockingStdio(writing, form)
        for _ in range(2000):
            stdio.put(LINE)
        stdio.put(b"the last")
        closing = Thread(target=stdio.close, kwargs={"patience": 1.0, "most": 60})
        closing.start()
        output = b""
        while b"the last\n" not in output:
            closing.join(0.02)  # some sixty times in all, which together is longer than the patience
            is_all_in_the_pipe = len(output) + SMALLEST >= 2000 * (len(LINE) + 1)
            assert closing.is_alive() or is_all_in_the_pipe
            output += os.read(reading, SMALLEST)
        closing.join()
        assert output.count(LINE) == 2000


def test_what_was_put_in_is_written_before_the_end() -> None:
    with pipe() as (reading, writing):
        stdio = NonblockingStdio(writing, form)
        stdio.put(b"one")
        stdio.put(b"two")
        stdio.close()
        assert read(reading, b"two\n") == b"one\ntwo\n"


def test_a_stream_that_others_made_impatient_loses_nothing() -> None:
    with pipe() as (reading, writing):
        os.set_blocking(writing, False)
        stdio = NonblockingStdio(writing, form)
        for n in range(100):
            stdio.put(LINE + b"%d" % n)
        output = read(reading, LINE + b"99\n")
        stdio.close()
        assert output.count(b"\n") == 100


def test_a_reader_that_is_gone_or_a_form_that_fails_ends_nothing() -> None:
    fails = True

    def fragile(waiting: Sequence[bytes], dropped: int) -> list[bytes]:
        if fails:
            raise ValueError("a bug")
        return form(waiting, dropped)

    with pipe() as (reading, writing):
        stdio = NonblockingStdio(writing, fragile)
        stdio.put(b"lost")
        until_sync(lambda: stdio.dropped)
        fails = False
        stdio.put(b"told")
        assert read(reading, b"told\n") == b"dropped 1\ntold\n"
        stdio.close()


def test_lines_of_two_who_share_a_stream_stay_whole() -> None:
    with pipe() as (reading, writing):
        ends = [NonblockingStdio(writing, form) for _ in range(2)]
        for _ in range(50):
            for n, stdio in enumerate(ends):
                stdio.put(b"%d" % n * 100)
        output = b""
        while output.count(b"\n") < 100:
            output += os.read(reading, 65_536)
        for stdio in ends:
            stdio.close()
    assert {len(set(line)) for line in output.splitlines()} == {1}
