"""A process that has already imported the command line, and forks for every request to run a command.

Starting Python and importing everything takes longer than most commands. A request comes through a socket:
the arguments, the folder, the environment, and the descriptors of the streams. A fork of a fork runs the
command, to the very end of its interpreter; the process between waits for it and reports its exit code. This
is run as a script, so that nothing of the tests is imported beside the product.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from importlib import import_module

LONGEST = 1 << 17
"""Bytes of a request."""


def serve(control: socket.socket) -> list[str]:
    """Fork for every request until the socket is closed; returns in forks, each with its arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, files, _, _ = socket.recv_fds(control, LONGEST, 4)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            return become(request, socket.socket(fileno=files[0]), files[1:])
        for file in files:
            os.close(file)


def become(request: bytes, client: socket.socket, streams: list[int]) -> list[str]:
    """Fork once more; the child is like a new process, and the parent reports its pid and its exit code."""
    arguments, folder, environment = json.loads(request)
    command = os.fork()
    if command:
        for stream in streams:
            os.close(stream)
        client.send(str(command).encode())
        _, status = os.waitpid(command, 0)
        client.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    client.close()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.path[0] = folder
    return list(arguments)


if __name__ == "__main__":
    from tenure.__main__ import main

    # `main` imports these only after it has decided on a restart.
    import_module("tenure.surfaces.cli.commands")
    # An address decides which of them a command imports.
    import_module("tenure.storage.sqlite.store")
    import_module("tenure.storage.postgres.store")
    # Frozen objects are not touched, and so not copied, when a fork collects its garbage.
    gc.freeze()
    sys.argv[1:] = serve(socket.socket(fileno=int(sys.argv[1])))
    main()
