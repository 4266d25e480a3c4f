"""The server that stands for SQS in tests loses no message where SQS would lose none."""

import threading
from itertools import count

import pytest
from moto.sqs.models import Message, Queue, sqs_backends

from tests.relay.messages.moto_server import delete_alone

PATIENCE = 10.0


def test_what_is_sent_while_another_message_is_removed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call stands still in the middle of removing; another removes and sends."""
    monkeypatch.setattr(Queue, "delete_message", delete_alone)
    backend = sqs_backends["123456789012"]["eu-west-1"]
    queue = backend.create_queue("races", {})
    for body in ("first", "second"):
        backend.send_message("races", body)
    first, second = (str(one.receipt_handle) for one in backend.receive_message("races", 2, 0, 600))
    is_within, goes_on = threading.Event(), threading.Event()
    had, looks = Message.had_receipt_handle, count(1)

    def has(message: Message, receipt: str) -> bool:
        if threading.current_thread() is slow and next(looks) == 2:  # the first was whether it is there
            is_within.set()
            goes_on.wait(PATIENCE)
        return had(message, receipt)

    def remove_and_send() -> None:
        backend.delete_message("races", second)
        backend.send_message("races", "third")

    monkeypatch.setattr(Message, "had_receipt_handle", has)
    slow = threading.Thread(target=backend.delete_message, args=("races", first))
    quick = threading.Thread(target=remove_and_send)
    slow.start()
    assert is_within.wait(PATIENCE)
    quick.start()
    quick.join(0.2)  # it waits for the other now; else it is done
    goes_on.set()
    for thread in (slow, quick):
        thread.join(PATIENCE)
    assert [message.body for message in queue._messages] == ["third"]
