"""An app that needs variables when it is imported, and whose jobs, one in each lane, tell which they have."""

import os
import sys
from pathlib import Path
from typing import Any

from tenure import Tenure

app = Tenure()
REGION = os.environ["SHOP_REGION"]
AT_IMPORT = sorted(os.environ)
PROGRAM = (
    "import json, os; print(json.dumps({'region': os.environ['SHOP_REGION'], "
    "'has': sorted(os.environ), 'block': [], 'at_import': []}))"
)


def tell(params: dict[str, Any]) -> dict[str, Any]:
    """The variables by name, also those that the kernel shows of this process and of the one above it."""
    blocks = [Path(f"/proc/{pid}/environ").read_text() for pid in ("self", os.getppid())]
    return {
        "region": REGION,
        "has": sorted(os.environ),
        "at_import": AT_IMPORT,
        "block": sorted(
            {entry.partition("=")[0] for block in blocks for entry in block.split("\0") if entry}
        ),
    }


async def tell_from_a_loop(params: dict[str, Any]) -> dict[str, Any]:
    return tell(params)


def miss(params: dict[str, Any]) -> str:
    return os.environ[params["name"]]


async def miss_from_a_loop(params: dict[str, Any]) -> str:
    return miss(params)


for lane in ("process", "spawn", "warm", "thread"):
    app.job(f"{lane}.tell", lane=lane, max_attempts=1)(tell)
    app.job(f"{lane}.miss", lane=lane, max_attempts=1)(miss)
app.job("async.tell", lane="async", max_attempts=1)(tell_from_a_loop)
app.job("async.miss", lane="async", max_attempts=1)(miss_from_a_loop)
app.command("command.tell", [sys.executable, "-c", PROGRAM], max_attempts=1)
