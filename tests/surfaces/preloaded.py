"""A process that has imported the command line already, and forks for every command that is asked for.

To start Python and to import everything takes longer than what most commands do. What is asked for comes
through a socket: the arguments, the folder, the environment, and where its streams are to go. A fork of a
fork runs the command, to the very end of its interpreter; the one between waits for it and tells how it
ended. This is run as a script, so that nothing of the tests is imported beside the product.
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
    """Fork for every request until nobody is left to ask; returns in forks, each with its arguments."""
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


def become(request: bytes, asking: socket.socket, streams: list[int]) -> list[str]:
    """Fork once more; the child is as a new process would be, and the parent tells of it."""
    arguments, folder, environment = json.loads(request)
    command = os.fork()
    if command:
        for stream in streams:
            os.close(stream)
        asking.send(str(command).encode())
        _, status = os.waitpid(command, 0)
        asking.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    asking.close()
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
    from tenure.assemble import main

    # To begin anew, or not, comes before these.
    import_module("tenure.surfaces.cli.commands")
    # An address decides which of them a command imports.
    import_module("tenure.storage.sqlite.store")
    import_module("tenure.storage.postgres.store")
    # What is here already need not be looked at, and thereby copied, when a fork collects its garbage.
    gc.freeze()
    sys.argv[1:] = serve(socket.socket(fileno=int(sys.argv[1])))
    main()
