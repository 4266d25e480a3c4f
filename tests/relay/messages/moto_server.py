"""Serves SQS on a port of this machine until its input ends; run as a module, with the port, or 0 for any."""

import sys

from moto.server import ThreadedMotoServer
from moto.sqs.models import Queue

_delete = Queue.delete_message


def delete_alone(queue: Queue, receipt: str) -> None:
    """Remove a message while no other call removes or adds one.

    moto copies what is left to a new list. Of two that do so at once the second puts back what the first has
    removed, and drops what was sent in between: a message that SQS would not lose.
    """
    with queue._messages_lock:
        _delete(queue, receipt)


if __name__ == "__main__":
    Queue.delete_message = delete_alone  # type: ignore[method-assign, assignment]
    server = ThreadedMotoServer("127.0.0.1", int(sys.argv[1]), verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)
    sys.stdin.read()
