"""A stream that nobody reads keeps nobody waiting, and what it did not take is counted."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tenure.telemetry.outlet import Outlet

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
    said = b""
    while until not in said:
        said += os.read(reading, 65_536)
    return said


def test_who_puts_something_in_does_not_wait_for_a_reader() -> None:
    with pipe() as (reading, writing):
        outlet = Outlet(writing, form, most_waiting=500)
        for _ in range(2000):  # some sixty times what the pipe takes
            outlet.put(LINE)
        said = read(reading, b"dropped ")
        said += read(reading, b"\n")
        dropped = int(said.rpartition(b"dropped ")[2].split()[0])
        outlet.put(b"the last")
        said += read(reading, b"the last\n")
        outlet.close()
        assert said.count(LINE) + dropped == 2000
        assert dropped >= 1000


def test_an_end_without_a_reader_is_an_end() -> None:
    with pipe() as (reading, writing):
        outlet = Outlet(writing, form)
        for _ in range(99):
            outlet.put(LINE)
        outlet.put(b"the last")
        outlet.close(patience=0.01)
        # Its thread is still at it, and must not be when the descriptor is somebody else's.
        read(reading, b"the last\n")
        outlet.close()


def test_what_was_put_in_is_written_before_the_end() -> None:
    with pipe() as (reading, writing):
        outlet = Outlet(writing, form)
        outlet.put(b"one")
        outlet.put(b"two")
        outlet.close()
        assert read(reading, b"two\n") == b"one\ntwo\n"


def test_a_stream_that_others_made_impatient_loses_nothing() -> None:
    with pipe() as (reading, writing):
        os.set_blocking(writing, False)
        outlet = Outlet(writing, form)
        for n in range(100):
            outlet.put(LINE + b"%d" % n)
        said = read(reading, LINE + b"99\n")
        outlet.close()
        assert said.count(b"\n") == 100


def test_a_reader_that_is_gone_or_a_form_that_fails_ends_nothing() -> None:
    fails = True

    def fragile(waiting: Sequence[bytes], dropped: int) -> list[bytes]:
        if fails:
            raise ValueError("a bug")
        return form(waiting, dropped)

    with pipe() as (reading, writing):
        outlet = Outlet(writing, fragile)
        outlet.put(b"lost")
        while outlet.dropped == 0:
            pass
        fails = False
        outlet.put(b"told")
        assert read(reading, b"told\n") == b"dropped 1\ntold\n"
        outlet.close()


def test_lines_of_two_who_share_a_stream_stay_whole() -> None:
    with pipe() as (reading, writing):
        ends = [Outlet(writing, form) for _ in range(2)]
        for _ in range(50):
            for n, outlet in enumerate(ends):
                outlet.put(b"%d" % n * 100)
        said = b""
        while said.count(b"\n") < 100:
            said += os.read(reading, 65_536)
        for outlet in ends:
            outlet.close()
    assert {len(set(line)) for line in said.splitlines()} == {1}
