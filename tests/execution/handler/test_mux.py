"""The streams that attempts of a runner share."""

import socket
from threading import Thread

from tenure.execution.handler.mux import Mux, MuxStream
from tenure.execution.protocol.frames import Frames, read
from tenure.execution.protocol.messages import FROM_RUNNER, OutputMessage


class Finalized(str):
    """Text during whose printing a finalizer prints, too."""

    __slots__ = ("stream",)
    stream: MuxStream

    def __radd__(self, before: str) -> str:
        self.stream.print("stdout", "by a finalizer")
        return f"{before}{self!s}"


def test_a_finalizer_may_print_in_the_middle_of_a_print() -> None:
    """In the same thread: it must not wait for itself, and nothing of either is lost."""
    ours, workers = socket.socketpair()
    with ours, workers:
        stream = Mux(ours.fileno(), lambda _number, _begin: None).open(1)
        text = Finalized("one\ntwo ")
        text.stream = stream
        printing = Thread(target=stream.print, args=("stdout", text), daemon=True)
        printing.start()
        printing.join(30)
        assert not printing.is_alive()
        stream.flush()
        sent = [
            message for body in Frames().feed(workers.recv(65_536)) for _, message in read(FROM_RUNNER, body)
        ]
    assert sent == [OutputMessage("stdout", "one\n"), OutputMessage("stdout", "two by a finalizer")]
