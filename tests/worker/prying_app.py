"""A program whose jobs, one in each lane, read what they can of the processes above them."""

import sys
from typing import Any

from tenure import Tenure
from tests.worker import process_reader

app = Tenure()


def pry(params: dict[str, Any]) -> dict[str, Any]:
    """Look."""
    return process_reader.look(params)


async def pry_from_a_loop(params: dict[str, Any]) -> dict[str, Any]:
    """The same."""
    return process_reader.look(params)


app.job("process.pry", max_attempts=1)(pry)
app.job("spawn.pry", lane="spawn", max_attempts=1)(pry)
app.job("warm.pry", lane="warm", max_attempts=1)(pry)
app.job("thread.pry", lane="thread", max_attempts=1)(pry)
app.job("async.pry", lane="async", max_attempts=1)(pry_from_a_loop)
app.command("command.pry", [sys.executable, process_reader.__file__], max_attempts=1)
