"""A process that has already imported the command line, and forks for every request to run a command.

Starting Python and importing everything takes longer than most commands. A request comes through a socket:
the arguments, the folder, the environment, and the descriptors of the streams. A fork of a fork runs the
command, and ends as its interpreter would; the process between waits for it and reports its exit code. This
is run as a script, so that nothing of the tests is imported beside the product.
"""

import atexit
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
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


def run(command: Callable[[], None]) -> None:
    """Run the command, and end as an interpreter does, but without taking every module apart.

    That would touch, and so copy, all that the processes share. What the command itself has left is freed,
    and may complain. Where anything but an exit code is to be told, the interpreter goes the whole way.
    """
    try:
        command()
        status = 0
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        status = end.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)


if __name__ == "__main__":
    from tenure.__main__ import main
    from tenure.storage.schema import statements

    # `main` imports these only after it has decided on a restart, and of the commands the one that is run.
    list(import_module("tenure.surfaces.cli.commands").commands.commands.values())
    # An address decides which of them a command imports.
    import_module("tenure.storage.sqlite.store")
    import_module("tenure.storage.postgres.store")
    for store in ("sqlite", "postgres"):
        statements.load(f"tenure.storage.{store}")
    # Frozen objects are not touched, and so not copied, when a fork collects its garbage.
    gc.freeze()
    sys.argv[1:] = serve(socket.socket(fileno=int(sys.argv[1])))
    run(main)
