"""The process between worker and zygote: it waits for one of the two to end, and leaves nobody behind."""

import os
import select
import signal
import socket

from tenure.execution import kernel


def keep(zygote: int, control: socket.socket, scratch: str) -> None:
    """Wait until the worker or the zygote is gone, then end every process below this one, and this one.

    The worker holds the other end of the control socket. It sees that one closed only when this process ends,
    and so knows by it that nobody is left.
    """
    import shutil  # after the fork: the zygote has no use for it

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever stops the worker's whole group means the worker
    kernel.resume_after_parent()  # somebody may have stopped everybody, and then killed the worker alone
    ending = select.poll()
    ending.register(control, 0)  # nothing but the hang-up: what is said is for the zygote
    ending.register(os.pidfd_open(zygote), select.POLLIN)
    ending.poll()
    _end_everybody()
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _end_everybody() -> None:
    """Kill and reap until there is nobody; whoever loses its parent meanwhile comes to this process."""
    while True:
        for pid in kernel.children():
            kernel.kill_group(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return
