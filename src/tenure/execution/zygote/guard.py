"""The process between worker and zygote: waits until one of them ends, and leaves no process behind."""

import os
import select
import signal
import socket

from tenure.execution.protocol import kernel


def keep(zygote: int, control: socket.socket, scratch: str) -> None:
    """Wait until the worker or the zygote is gone, then end every process below this one, and this one.

    The worker holds the other end of the control socket. It sees that socket closed only when this process
    ends, which tells it that no process is left.
    """
    import shutil  # after the fork: the zygote does not need it

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # sent to the worker's whole group, they mean the worker
    kernel.resume_after_parent()  # all may have been stopped, and then the worker alone killed
    ending = select.poll()
    ending.register(control, 0)  # only the hang-up: messages are for the zygote
    ending.register(os.pidfd_open(zygote), select.POLLIN)
    ending.poll()
    _end_descendants()
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _end_descendants() -> None:
    """Kill and reap until none is left; this process adopts orphans meanwhile."""
    while True:
        for pid in kernel.children():
            kernel.kill_group(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return
