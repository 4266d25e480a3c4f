"""A program whose jobs report what they may use, in each lane, or use more."""

import errno
import os
import resource
import sys
import threading
from pathlib import Path
from typing import Any

from tenure import Tenure

app = Tenure()
LOOK = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA)
PROGRAM = """
import json, resource
kinds = resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA
print(json.dumps([resource.getrlimit(kind)[0] for kind in kinds]))
"""


def limits(_params: dict[str, Any]) -> list[int]:
    """How many files may be open, how large one may be, and how much memory it may have."""
    return [resource.getrlimit(kind)[0] for kind in LOOK]


async def limits_in_a_loop(params: dict[str, Any]) -> list[int]:
    """The same."""
    return limits(params)


def open_files(_params: dict[str, Any]) -> None:
    """Opens more files than it may; a library wraps what the system says."""
    opened = []
    try:
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise ValueError("no connection could be made") from error
    finally:
        for file in opened:
            os.close(file)


def write_a_file(_params: dict[str, Any]) -> None:
    """Writes a larger file than it may."""
    place = Path(os.environ["TMPDIR"]) / "large"
    with place.open("wb") as file:
        file.write(bytes(2 << 20))


async def write_in_a_loop(params: dict[str, Any]) -> None:
    """The same."""
    write_a_file(params)


def take_memory(params: dict[str, Any]) -> int:
    """Takes so much, and says how much it had."""
    return len(bytearray(params["size"]))


def start_threads(_params: dict[str, Any]) -> None:
    """Starts threads until there is no memory for their stacks."""
    ending = threading.Event()
    try:
        while True:
            threading.Thread(target=ending.wait).start()
    finally:
        ending.set()


def say_no_memory(_params: dict[str, Any]) -> None:
    """What a system call says that found no memory."""
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


for lane in ("process", "spawn", "warm", "thread"):
    app.job(f"{lane}.limits", lane=lane)(limits)
app.job("async.limits", lane="async")(limits_in_a_loop)
app.command("command.limits", [sys.executable, "-c", PROGRAM])
app.job("process.own", memory="1G", files=64)(limits)
app.job("process.lifted", memory=None, files=None)(limits)

app.job("files", max_attempts=1)(open_files)
app.job("write", max_attempts=1)(write_a_file)
app.job("write.warm", lane="warm", max_attempts=1)(write_a_file)
app.job("write.async", lane="async", max_attempts=1)(write_in_a_loop)
app.command("write.command", ["sh", "-c", "exec head -c 2097152 /dev/zero > $TMPDIR/large"], max_attempts=1)
app.job("memory", max_attempts=1)(take_memory)
app.job("memory.lifted", memory=None, max_attempts=1)(take_memory)
app.job("threads", max_attempts=1)(start_threads)
app.job("enomem", max_attempts=1)(say_no_memory)
